// Tests of sums whose values travel in fewer bytes.
#include "workloads/parallel/narrow_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "runner/base/ceil_div.h"
#include "runner/base/clock.h"
#include "runner/base/system_facts.h"

namespace parallel {
namespace {

class NarrowSum : public testing::TestWithParam<GradientPayload> {
 protected:
  std::unique_ptr<NarrowSums> sums_of(const std::vector<std::span<float>>& blocks,
                                      const std::vector<std::span<float>>& rests = {}) {
    return std::make_unique<NarrowSums>(world_, blocks, rests, narrow_format(GetParam(), kernels_),
                                        telemetry_, "test");
  }
  static void finish(NarrowSums& sums) {
    while (!sums.test()) std::this_thread::yield();
  }
  void go(std::vector<float>& data) {
    const auto sum = sums_of({data});
    sum->begin(0);
    finish(*sum);
  }

  /// Whole numbers that the format has exactly, as it has their sums: a block has one of them and
  /// zeros, and its largest must be 127 times a number that its scale has.
  float term(int rank, std::size_t i) const {
    const int unit = GetParam() == GradientPayload::kInt8 ? 127 : 16;
    return i % 2 == 0 ? static_cast<float>((rank % 2 + 1) * unit) : 0.0F;
  }

  const runner::Communicator world_ = runner::Communicator::world();
  const base::SystemClock clock_;
  telemetry::Telemetry telemetry_{clock_};
  const nn::Kernels& kernels_ = nn::kernels(base::usable_instruction_set());
};

INSTANTIATE_TEST_SUITE_P(Payloads, NarrowSum,
                         testing::Values(GradientPayload::kBf16, GradientPayload::kInt8),
                         [](const auto& payload) { return to_string(payload.param); });

TEST_P(NarrowSum, AreExactWhereTheFormatIs) {
  for (const std::size_t count : {1u, 2u, 7u, 8u, 1000u, 100'003u}) {
    std::vector<float> data(count);
    const auto sum = sums_of({data});
    for (int repetition = 0; repetition < 3; ++repetition) {
      for (std::size_t i = 0; i < count; ++i) data[i] = term(world_.rank() + repetition, i);
      sum->begin(0);
      finish(*sum);
      for (std::size_t i = 0; i < count; ++i) {
        float expected = 0.0F;
        for (int rank = 0; rank < world_.size(); ++rank) expected += term(rank + repetition, i);
        ASSERT_EQ(data[i], expected) << i << " of " << count;
      }
    }
  }
}

float value(int rank, std::size_t i) {
  return std::sin(static_cast<float>(i) * 0.37F + static_cast<float>(rank)) *
         std::exp2(static_cast<float>(i % 40) - 20.0F);
}

/// Each value is rounded once before it is added, and the sum once: to bfloat16 by 2^-8 of them at
/// most, to bytes by half of a 127th of the largest in their block.
TEST_P(NarrowSum, AreRoundedTwice) {
  constexpr std::size_t kCount = 50'000;
  std::vector<float> data(kCount);
  for (std::size_t i = 0; i < kCount; ++i) data[i] = value(world_.rank(), i);
  go(data);
  double worst = 0.0;
  for (std::size_t i = 0; i < kCount; ++i) {
    const double most = std::exp2(19);  // of each block of 256, and nearly so
    double exact = 0.0, magnitude = 0.0;
    for (int rank = 0; rank < world_.size(); ++rank) {
      exact += double{value(rank, i)};
      magnitude += std::abs(double{value(rank, i)});
    }
    const double off = std::abs(double{data[i]} - exact);
    const double bound = GetParam() == GradientPayload::kBf16
                             ? std::exp2(-8) * (magnitude + std::abs(exact))
                             : most / 127.0 * world_.size();
    ASSERT_LE(off, 1.01 * bound) << i;
    worst = std::max(worst, off / magnitude);
  }
  if (world_.size() > 1) {
    EXPECT_GT(worst, std::exp2(-12)) << "floats would be nearer";
  }
}

/// What was left out comes with later sums: after many, their mean is that of the exact ones.
TEST_P(NarrowSum, MakeUpForWhatTheyLeftOut) {
  constexpr std::size_t kCount = 3001;
  constexpr int kTimes = 50;
  std::vector<float> data(kCount), rest(kCount);
  std::vector<double> sums(kCount);
  const auto sum = sums_of({data}, {rest});
  for (int time = 0; time < kTimes; ++time) {
    for (std::size_t i = 0; i < kCount; ++i) data[i] = value(world_.rank() + time, i % 300);
    sum->begin(0);
    finish(*sum);
    for (std::size_t i = 0; i < kCount; ++i) sums[i] += double{data[i]};
  }
  std::vector<double> rests(rest.begin(), rest.end());
  world_.allreduce_sum(std::span(rests));
  double left = 0.0;
  for (std::size_t i = 0; i < kCount; ++i) {
    double exact = 0.0, magnitude = 0.0;
    for (int time = 0; time < kTimes; ++time) {
      for (int rank = 0; rank < world_.size(); ++rank) {
        exact += double{value(rank + time, i % 300)};
        magnitude += std::abs(double{value(rank + time, i % 300)});
      }
    }
    // Both are added up in floats of the size of the largest of a block.
    ASSERT_NEAR(sums[i] + rests[i], exact, 1e-5 * (magnitude + std::exp2(20))) << i;
    left = std::max(left, std::abs(rests[i]));
  }
  EXPECT_GT(left, 0.0) << "something is always left out";
  // At most half of the last place of the largest sum in a block, on each rank: of bytes, a 127th.
  const double place = GetParam() == GradientPayload::kBf16 ? std::exp2(-8) : 1.0 / 127.0;
  EXPECT_LE(left, place * std::exp2(20) * world_.size()) << "it does not grow";
}

TEST_P(NarrowSum, HaveTheSameBitsOnAllRanksAndAgain) {
  std::vector<float> data(30'011);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = value(world_.rank(), i);
  std::vector<float> again = data;
  go(data);
  go(again);
  EXPECT_EQ(std::memcmp(data.data(), again.data(), data.size() * sizeof(float)), 0);
  std::vector<float> of_rank_0 = data;
  world_.broadcast(std::as_writable_bytes(std::span(of_rank_0)), 0);
  EXPECT_EQ(std::memcmp(data.data(), of_rank_0.data(), data.size() * sizeof(float)), 0);
}

/// Ranks see parts arrive in other orders.
TEST_P(NarrowSum, GoOnBesideEachOther) {
  constexpr std::size_t kBlocks = 12;
  std::vector<std::vector<float>> data(kBlocks);
  std::vector<std::span<float>> blocks;
  for (std::size_t block = 0; block < kBlocks; ++block) {
    data[block].resize(block % 2 == 0 ? 60'000 : 5);
    blocks.emplace_back(data[block]);
  }
  const auto sums = sums_of(blocks);
  for (int repetition = 0; repetition < 20; ++repetition) {
    for (std::size_t block = 0; block < kBlocks; ++block) {
      for (std::size_t i = 0; i < data[block].size(); ++i) data[block][i] = term(world_.rank(), i);
      sums->begin(block);
      const auto turn = block + static_cast<std::size_t>(world_.rank());
      if (turn % 3 == 0) sums->test();
      if (turn % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
    finish(*sums);
    for (const std::vector<float>& one : data) {
      for (std::size_t i = 0; i < one.size(); ++i) {
        float expected = 0.0F;
        for (int rank = 0; rank < world_.size(); ++rank) expected += term(rank, i);
        ASSERT_EQ(one[i], expected);
      }
    }
  }
}

TEST_P(NarrowSum, SendTheBytesOfTheFormat) {
  const runner::Accounting accounting = world_.account_to(telemetry_);
  for (const std::int64_t count : {1000, 1001, 3}) {
    std::vector<float> data(static_cast<std::size_t>(count), 1.0F);
    const std::int64_t before = telemetry_.count(telemetry::Counter::kBytesSent);
    go(data);
    const std::int64_t ranks = world_.size();
    std::int64_t expected = 0;
    const std::int64_t blocks = base::ceil_div(count, kFormatBlock);
    std::int64_t left = count;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const std::int64_t mine = blocks / ranks + (rank < blocks % ranks ? 1 : 0);
      const std::int64_t floats = std::min(left, mine * kFormatBlock);
      left -= floats;
      const std::int64_t part = narrow_bytes(GetParam(), floats);
      expected += rank == world_.rank() ? part * (ranks - 1) : part;
    }
    EXPECT_EQ(telemetry_.count(telemetry::Counter::kBytesSent) - before, expected);
  }
}

}  // namespace
}  // namespace parallel
