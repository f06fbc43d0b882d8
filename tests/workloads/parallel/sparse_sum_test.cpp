// Tests of sums of the values of largest magnitude.
#include "workloads/parallel/sparse_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "runner/base/clock.h"
#include "workloads/parallel/gradient_travel.h"

namespace parallel {
namespace {

class SparseSum : public testing::Test {
 protected:
  std::unique_ptr<SparseSums> sums_of(const std::vector<std::span<float>>& pieces,
                                      const std::vector<std::span<float>>& rests, double density) {
    return std::make_unique<SparseSums>(world_, pieces, rests, density, telemetry_, "test");
  }
  static void finish(SparseSums& sums) {
    while (!sums.test()) std::this_thread::yield();
  }

  const runner::Communicator world_ = runner::Communicator::world();
  const base::SystemClock clock_;
  telemetry::Telemetry telemetry_{clock_};
};

/// Whole numbers, whose sums floats have exactly.
float value(int rank, std::size_t i) {
  const auto mixed = (static_cast<std::uint32_t>(i) * 2654435761U) ^
                     (static_cast<std::uint32_t>(rank + 1) * 40503U);
  return static_cast<float>(static_cast<int>((mixed >> 8U) % 20'001U) - 10'000);
}

TEST_F(SparseSum, OfAllValuesAreTheSums) {
  std::vector<float> data(5001);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = value(world_.rank(), i);
  const auto sum = sums_of({data}, {}, 1.0);
  sum->begin(0);
  finish(*sum);
  for (std::size_t i = 0; i < data.size(); ++i) {
    float expected = 0.0F;
    for (int rank = 0; rank < world_.size(); ++rank) expected += value(rank, i);
    ASSERT_EQ(data[i], expected);
  }
}

/// By the definition: of each rank its largest values, added.
TEST_F(SparseSum, AreThoseOfEachRanksSelection) {
  constexpr std::size_t kCount = 20'000;
  constexpr double kDensity = 0.01;
  std::vector<float> data(kCount);
  std::vector<double> expected(kCount);
  LargestValues largest;
  for (int rank = 0; rank < world_.size(); ++rank) {
    std::vector<float> theirs(kCount);
    for (std::size_t i = 0; i < kCount; ++i) theirs[i] = value(rank, i);
    if (rank == world_.rank()) data = theirs;
    for (const std::int32_t place : largest.select(theirs, top_k_of(kDensity, kCount))) {
      expected[static_cast<std::size_t>(place)] += double{theirs[static_cast<std::size_t>(place)]};
    }
  }
  const auto sum = sums_of({data}, {}, kDensity);
  sum->begin(0);
  finish(*sum);
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(double{data[i]}, expected[i]) << i;
}

/// What is applied and what is kept add up to what was given, exactly.
TEST_F(SparseSum, LoseNothingWithErrorFeedback) {
  constexpr std::size_t kCount = 3000;
  std::vector<float> first(kCount), second(17), first_rest(kCount), second_rest(17);
  const auto sums = sums_of({first, second}, {first_rest, second_rest}, 0.02);
  std::vector<double> applied(kCount + 17), given(kCount + 17);
  for (int time = 0; time < 8; ++time) {
    const auto fresh = [&](int rank, std::size_t i) { return value(rank + 10 * time, i); };
    for (std::size_t i = 0; i < kCount; ++i) first[i] = fresh(world_.rank(), i);
    for (std::size_t i = 0; i < 17; ++i) second[i] = fresh(world_.rank(), kCount + i);
    for (std::size_t i = 0; i < given.size(); ++i) {
      for (int rank = 0; rank < world_.size(); ++rank) given[i] += double{fresh(rank, i)};
    }
    sums->begin(0);
    sums->begin(1);
    finish(*sums);
    for (std::size_t i = 0; i < kCount; ++i) applied[i] += double{first[i]};
    for (std::size_t i = 0; i < 17; ++i) applied[kCount + i] += double{second[i]};
  }
  std::vector<double> kept(first_rest.begin(), first_rest.end());
  kept.insert(kept.end(), second_rest.begin(), second_rest.end());
  world_.allreduce_sum(std::span(kept));
  for (std::size_t i = 0; i < given.size(); ++i) ASSERT_EQ(applied[i] + kept[i], given[i]) << i;
}

/// What was not sent counts in the next selection.
TEST_F(SparseSum, SelectAfterTheRestIsAdded) {
  std::vector<float> data(100, 1.0F), rest(100);
  rest[70] = 50.0F;
  data[70] = 0.0F;
  const auto sum = sums_of({data}, {rest}, 0.01);
  sum->begin(0);
  finish(*sum);
  std::vector<float> expected(100);
  expected[70] = 50.0F * static_cast<float>(world_.size());
  EXPECT_EQ(data, expected);
  std::vector<float> left(100, 1.0F);
  left[70] = 0.0F;
  EXPECT_EQ(rest, left);
}

TEST_F(SparseSum, HaveTheSameBitsOnAllRanks) {
  std::vector<float> data(30'011);
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = std::sin(static_cast<float>(i) * 0.37F + static_cast<float>(world_.rank())) / 3.0F;
  }
  const auto sum = sums_of({data}, {}, 0.3);
  sum->begin(0);
  finish(*sum);
  std::vector<float> of_rank_0 = data;
  world_.broadcast(std::as_writable_bytes(std::span(of_rank_0)), 0);
  EXPECT_EQ(std::memcmp(data.data(), of_rank_0.data(), data.size() * sizeof(float)), 0);
}

TEST_F(SparseSum, SendAFloatAndAPlaceForEachSelectedValue) {
  const runner::Accounting accounting = world_.account_to(telemetry_);
  for (const std::size_t count : {1000U, 1001U, 3U}) {
    std::vector<float> data(count, 1.0F);
    const auto sum = sums_of({data}, {}, 0.1);
    const std::int64_t before = telemetry_.count(telemetry::Counter::kBytesSent);
    sum->begin(0);
    finish(*sum);
    const std::int64_t k = count == 1000U ? 100 : count == 1001U ? 101 : 1;
    EXPECT_EQ(telemetry_.count(telemetry::Counter::kBytesSent) - before,
              (world_.size() - 1) * k * 8);
  }
}

/// A run that diverges must be seen to.
TEST_F(SparseSum, KeepWhatIsNoNumber) {
  std::vector<float> data(1000, 1.0F), rest(1000);
  if (world_.rank() == world_.size() - 1) data[555] = NAN;
  const auto sum = sums_of({data}, {rest}, 0.001);
  sum->begin(0);
  finish(*sum);
  EXPECT_TRUE(std::isnan(data[555]));
}

}  // namespace
}  // namespace parallel
