// Exchanges that a thread goes on with: the same results, and without the rank's help.
#include "runner/progress_thread.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "runner/base/random.h"
#include "runner/shared_memory.h"

namespace runner {
namespace {

std::vector<float> random_floats(std::size_t count, std::uint64_t number) {
  base::RandomStream stream(1, base::Purpose::kGenerate, 0, number);
  std::vector<float> floats(count);
  for (float& one : floats) one = static_cast<float>(stream.uniform(-1.0, 1.0));
  return floats;
}

/// Large and small sums of two communicators, exchanges of parts, and blocking calls
/// between them. Returns all that arrived.
std::vector<float> exchange(const Communicator& world, const Communicator& other, int round) {
  const auto number = static_cast<std::uint64_t>(world.rank() + world.size() * round);
  std::vector<std::vector<float>> sums;
  for (const std::size_t count : {1U << 18, 300'001U, 100U, 1U << 18}) {
    sums.push_back(random_floats(count, number));
  }
  std::vector<Pending> pending;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Communicator& ranks = i % 2 == 0 ? world : other;
    pending.push_back(ranks.start_allreduce_sum(sums[i], static_cast<std::int64_t>(i)));
  }
  const auto ranks = static_cast<std::size_t>(world.size());
  constexpr std::size_t kPart = 5'000;
  const std::vector<float> sent = random_floats(kPart * ranks, number);
  std::vector<float> received(sent.size());
  const RankParts parts =
      consecutive_parts(std::vector<std::int64_t>(ranks, kPart * sizeof(float)));
  pending.push_back(world.start_alltoall(std::as_bytes(std::span(sent)), parts,
                                         std::as_writable_bytes(std::span(received)), parts));
  const std::int64_t most = world.allreduce_max(std::int64_t{world.rank()});
  for (int looks = 0; looks < 3; ++looks) {
    for (Pending& one : pending) one.test();
  }
  std::vector<float> later = random_floats(kPart, number + 1);
  world.allreduce_sum(std::span<float>(later));
  for (std::size_t i = pending.size(); i-- > 0;) pending[i].wait();
  std::vector<float> all = {static_cast<float>(most)};
  for (const auto& some : sums) all.insert(all.end(), some.begin(), some.end());
  all.insert(all.end(), received.begin(), received.end());
  all.insert(all.end(), later.begin(), later.end());
  return all;
}

TEST(ProgressThread, ChangesNoResult) {
  const Communicator world = Communicator::world();
  const Communicator reversed = world.split(0, -world.rank());
  constexpr int kRounds = 3;
  std::vector<std::vector<float>> expected;
  for (int round = 0; round < kRounds; ++round) {
    expected.push_back(exchange(world, reversed, round));
  }
  for (const bool has_own_cpu : {false, true}) {
    const ProgressThread thread(world, {}, has_own_cpu);
    for (int round = 0; round < kRounds; ++round) {
      EXPECT_EQ(exchange(world, reversed, round), expected[static_cast<std::size_t>(round)]);
    }
    // Made, used and freed beside it.
    const Communicator pair = world.split(world.rank() / 2, world.rank());
    const SharedMemory memory(world.split_node(), 64);
    EXPECT_EQ(pair.allreduce_max(std::int64_t{1}), 1);
  }
}

/// The rank sleeps, and is done when it wakes: a sum has several steps, each after the other's
/// message. The sleep grows for machines on which others take the time.
TEST(ProgressThread, GoesOnWithoutTheRank) {
  const Communicator world = Communicator::world();
  for (const bool has_own_cpu : {false, true}) {
    const ProgressThread thread(world, {}, has_own_cpu);
    bool is_done = false;
    for (int seconds = 1; !is_done && seconds <= 16; seconds *= 4) {
      std::vector<float> sums(std::size_t{1} << 20, 1.0F);
      Pending pending = world.start_allreduce_sum(sums);
      std::this_thread::sleep_for(std::chrono::seconds(seconds));
      is_done = world.allreduce_min(std::int64_t{pending.test()}) == 1;
      pending.wait();
      EXPECT_EQ(sums.front(), static_cast<float>(world.size()));
      EXPECT_EQ(sums.back(), static_cast<float>(world.size()));
    }
    EXPECT_TRUE(is_done);
  }
}

TEST(ProgressThread, BeginsAndEndsAmidExchanges) {
  const Communicator world = Communicator::world();
  std::vector<float> first(std::size_t{1} << 18, 1.0F), second = first;
  Pending before = world.start_allreduce_sum(first), within;
  {
    const ProgressThread thread(world, {}, false);
    within = world.start_allreduce_sum(second);
  }
  within.wait();
  before.wait();
  const std::vector<float> expected(first.size(), static_cast<float>(world.size()));
  EXPECT_EQ(first, expected);
  EXPECT_EQ(second, expected);
}

/// A message that is longer than its receiver expects, found by either thread.
TEST(ProgressThread, PassesErrorsOn) {
  const Communicator world = Communicator::world();
  if (world.size() == 1) GTEST_SKIP() << "needs two ranks";
  {
    const ProgressThread thread(world, {}, false);
    const int left = (world.rank() + world.size() - 1) % world.size();
    const int right = (world.rank() + 1) % world.size();
    const std::vector<std::byte> sent(64);
    std::vector<std::byte> received(32);
    Pending pending = world.start_shift(sent, right, received, left);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_THROW(pending.wait(), base::SystemError);
  }
  world.barrier();
}

}  // namespace
}  // namespace runner
