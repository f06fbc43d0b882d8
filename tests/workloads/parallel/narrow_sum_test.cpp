// Tests of sums whose values travel as bfloat16.
#include "workloads/parallel/narrow_sum.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/system_facts.h"

namespace parallel {
namespace {

class NarrowSum : public testing::Test {
 protected:
  std::unique_ptr<NarrowSums> sums_of(const std::vector<std::span<float>>& blocks) {
    return std::make_unique<NarrowSums>(world_, blocks, kernels_, telemetry_, "test");
  }
  static void finish(NarrowSums& sums) {
    while (!sums.test()) std::this_thread::yield();
  }
  void go(std::vector<float>& data) {
    const auto sum = sums_of({data});
    sum->begin(0);
    finish(*sum);
  }

  const runner::Communicator world_ = runner::Communicator::world();
  const base::SystemClock clock_;
  telemetry::Telemetry telemetry_{clock_};
  const nn::Kernels& kernels_ = nn::kernels(base::usable_instruction_set());
};

/// Whole numbers that bfloat16 has exactly, as it has their sums.
float term(int rank, std::size_t i) {
  return static_cast<float>((static_cast<std::size_t>(rank) * 3 + i) % 16);
}

TEST_F(NarrowSum, AreExactWhereBfloat16Is) {
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

/// Each value is rounded once before it is added, and the sum once: by 2^-8 of them at most.
TEST_F(NarrowSum, AreRoundedTwice) {
  constexpr std::size_t kCount = 50'000;
  std::vector<float> data(kCount);
  for (std::size_t i = 0; i < kCount; ++i) data[i] = value(world_.rank(), i);
  go(data);
  double worst = 0.0;
  for (std::size_t i = 0; i < kCount; ++i) {
    double exact = 0.0, magnitude = 0.0;
    for (int rank = 0; rank < world_.size(); ++rank) {
      exact += double{value(rank, i)};
      magnitude += std::abs(double{value(rank, i)});
    }
    const double off = std::abs(double{data[i]} - exact);
    ASSERT_LE(off, 1.01 * std::exp2(-8) * (magnitude + std::abs(exact))) << i;
    worst = std::max(worst, off / magnitude);
  }
  if (world_.size() > 1) {
    EXPECT_GT(worst, std::exp2(-12)) << "bfloat16 rounds more";
  }
}

TEST_F(NarrowSum, HaveTheSameBitsOnAllRanksAndAgain) {
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
TEST_F(NarrowSum, GoOnBesideEachOther) {
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

TEST_F(NarrowSum, SendHalfOfTheBytes) {
  const runner::Accounting accounting = world_.account_to(telemetry_);
  for (const std::int64_t count : {1000, 1001, 3}) {
    std::vector<float> data(static_cast<std::size_t>(count), 1.0F);
    const std::int64_t before = telemetry_.count(telemetry::Counter::kBytesSent);
    go(data);
    const std::int64_t ranks = world_.size(), rank = world_.rank();
    const std::int64_t own = count / ranks + (rank < count % ranks ? 1 : 0);
    EXPECT_EQ(telemetry_.count(telemetry::Counter::kBytesSent) - before,
              2 * (count - own) + 2 * own * (ranks - 1));
  }
}

}  // namespace
}  // namespace parallel
