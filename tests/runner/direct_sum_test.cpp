// Tests of sums over ranks that each add up a part.
#include "runner/direct_sum.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "runner/communicator.h"
#include "runner/priority_order.h"

namespace runner {
namespace {

/// Whole numbers, of which every order of adding gives the same sum.
float value(int rank, std::size_t index) {
  return static_cast<float>((index * 31 + static_cast<std::size_t>(rank) * 7) % 1000);
}

std::vector<float> values_of(int rank, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = value(rank, i);
  return values;
}

void expect_sums(const std::vector<float>& found, int ranks) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    float expected = 0.0F;
    for (int rank = 0; rank < ranks; ++rank) expected += value(rank, i);
    ASSERT_EQ(found[i], expected) << i << " of " << found.size();
  }
}

TEST(DirectSum, AddsUpAnyNumberOfElements) {
  const Communicator world = Communicator::world();
  const auto ranks = static_cast<std::size_t>(world.size());
  for (const std::size_t count :
       {ranks * 4096, ranks * 4096 + 1, ranks * 4096 - 1, std::size_t{100'003}, std::size_t{3}}) {
    std::vector<float> data = values_of(world.rank(), count);
    world.start_allreduce_sum(data).wait();
    expect_sums(data, world.size());
  }
}

/// Values of which the order of adding decides the last bits.
TEST(DirectSum, GivesAllRanksTheSameBits) {
  const Communicator world = Communicator::world();
  std::vector<float> data(200'000);
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = 1.0F / static_cast<float>(3 + i % 977 + static_cast<std::size_t>(world.rank()) * 13);
  }
  const std::vector<float> own = data;
  world.start_allreduce_sum(data).wait();
  std::vector<float> of_rank_0 = data;
  world.broadcast(std::as_writable_bytes(std::span(of_rank_0)), 0);
  EXPECT_EQ(std::memcmp(data.data(), of_rank_0.data(), data.size() * sizeof(float)), 0);
  std::vector<float> again = own;
  world.start_allreduce_sum(again).wait();
  EXPECT_EQ(std::memcmp(data.data(), again.data(), data.size() * sizeof(float)), 0);
}

/// As one rank would add them up, however they are cut into sums.
TEST(DirectSum, AddsInTheOrderOfRanksWhateverIsSummedTogether) {
  const Communicator world = Communicator::world();
  constexpr std::size_t kFloats = 20'011;
  const auto value_of = [](int rank, std::size_t i) {
    return 1.0F / static_cast<float>(3 + i % 977 + static_cast<std::size_t>(rank) * 13);
  };
  for (const std::size_t cut : {kFloats, std::size_t{5'003}, std::size_t{1'000}}) {
    std::vector<float> data(kFloats);
    for (std::size_t i = 0; i < kFloats; ++i) data[i] = value_of(world.rank(), i);
    std::vector<Pending> pending;
    for (std::size_t at = 0; at < kFloats; at += cut) {
      pending.push_back(
          world.start_allreduce_sum(std::span(data).subspan(at, std::min(cut, kFloats - at))));
    }
    for (Pending& one : pending) one.wait();
    for (std::size_t i = 0; i < kFloats; ++i) {
      float expected = value_of(0, i);
      for (int rank = 1; rank < world.size(); ++rank) expected += value_of(rank, i);
      ASSERT_EQ(data[i], expected) << i << " in sums of " << cut;
    }
  }
}

/// Each rank waits in an order of its own, with other calls in between.
TEST(DirectSum, MayBeWaitedForInAnyOrder) {
  const Communicator world = Communicator::world();
  constexpr std::size_t kSums = 12;
  const auto first = static_cast<std::size_t>(world.rank()) * 5;
  std::vector<std::vector<float>> data;
  for (std::size_t i = 0; i < kSums; ++i) data.push_back(values_of(world.rank(), 40'000 + i));
  std::vector<Pending> pending;
  for (std::vector<float>& one : data) pending.push_back(world.start_allreduce_sum(one));
  EXPECT_EQ(world.allreduce_max(std::int64_t{world.rank()}), world.size() - 1);
  for (std::size_t i = 0; i < kSums; ++i) {
    Pending& next = pending[(first + i) % kSums];
    if (i % 2 == 0) {
      next.wait();
    } else {
      while (!next.test()) std::this_thread::yield();
    }
  }
  for (const std::vector<float>& one : data) expect_sums(one, world.size());
}

/// Each rank begins them at times of its own, and waits for those of high priority first.
TEST(DirectSum, AddsUpSumsOfSeveralPriorities) {
  const Communicator world = Communicator::world();
  constexpr std::size_t kSums = 9;
  std::vector<std::vector<float>> data;
  for (std::size_t i = 0; i < kSums; ++i) data.push_back(values_of(world.rank(), 40'000 + i));
  std::vector<Pending> pending;
  for (std::size_t i = 0; i < kSums; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(world.rank() * 2));
    pending.push_back(world.start_allreduce_sum(data[i], static_cast<std::int64_t>(i / 2)));
    world.go_on();
    for (Pending& begun : pending) begun.look();
  }
  for (std::size_t i = kSums; i-- > 0;) {
    pending[i].wait();
    expect_sums(data[i], world.size());
  }
}

/// Stands for a sum: its steps left, its priority, and what of it is on its way.
struct Steps {
  int left;
  std::int64_t level;
  std::size_t bytes = std::size_t{4} << 20;
  std::int64_t priority() const { return level; }
  std::size_t bytes_spreading() const { return bytes; }
  bool go_on() { return --left == 0; }
};

TEST(PriorityOrder, LetsEightMebibytesGoOnBeforeThoseOfLowerPriority) {
  Steps low{9, 0}, middle{9, 1}, high{2, 5}, also_high{9, 5};
  std::vector<Steps*> sums;
  for (Steps* one : {&low, &high, &also_high, &middle}) add_by_priority(*one, sums);
  EXPECT_EQ(sums, (std::vector<Steps*>{&high, &also_high, &middle, &low}));
  go_on_in_order(sums);
  EXPECT_EQ(high.left, 1);
  EXPECT_EQ(also_high.left, 8);
  EXPECT_EQ(middle.left, 9);
  EXPECT_EQ(low.left, 9);
  go_on_in_order(sums);  // high is done
  EXPECT_EQ(sums, (std::vector<Steps*>{&also_high, &middle, &low}));
  EXPECT_EQ(middle.left, 8);
  EXPECT_EQ(low.left, 9);
}

TEST(PriorityOrder, LetsAllGoOnThatAreAlike) {
  std::vector<Steps> all(5, Steps{3, 0});
  std::vector<Steps*> sums;
  for (Steps& one : all) add_by_priority(one, sums);
  for (int i = 0; i < 3; ++i) go_on_in_order(sums);
  EXPECT_TRUE(sums.empty());
}

TEST(PriorityOrder, DoesNotWaitForSumsThatOthersHaveNotBegun) {
  Steps low{2, 0}, first{9, 3, 0}, second{9, 2, 0}, third{9, 1};
  std::vector<Steps*> sums;
  for (Steps* one : {&low, &first, &second, &third}) add_by_priority(*one, sums);
  go_on_in_order(sums);
  EXPECT_EQ(low.left, 1);
}

TEST(DirectSum, WaitsForASlowRank) {
  const Communicator world = Communicator::world();
  std::vector<float> data = values_of(world.rank(), 100'000);
  if (world.rank() == world.size() - 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  Pending pending = world.start_allreduce_sum(data);
  std::this_thread::sleep_for(std::chrono::milliseconds(world.rank() * 10));
  pending = {};  // as its destructor does
  expect_sums(data, world.size());
}

TEST(DirectSum, GoesOnInsideGroupsAtTheSameTime) {
  const Communicator world = Communicator::world();
  const Communicator group = world.split(world.rank() % 2, world.rank());
  std::vector<float> mine = values_of(0, 50'000), all = values_of(world.rank(), 60'000);
  Pending of_group = group.start_allreduce_sum(mine);
  Pending of_all = world.start_allreduce_sum(all);
  (world.rank() % 2 == 0 ? of_group : of_all).wait();
  (world.rank() % 2 == 0 ? of_all : of_group).wait();
  expect_sums(all, world.size());
  for (std::size_t i = 0; i < mine.size(); ++i) {
    ASSERT_EQ(mine[i], value(0, i) * static_cast<float>(group.size()));
  }
}

TEST(DirectSum, SendsTheLeastBytes) {
  EXPECT_EQ(sent_for_direct_sum(1'000, 1, 0), SentVolume());
  EXPECT_EQ(sent_for_direct_sum(1'000, 2, 1), (SentVolume{4'000, 2}));
  EXPECT_EQ(sent_for_direct_sum(3, 5, 2), (SentVolume{2 * 4 + 4 * 4, 2 + 4}));
  EXPECT_EQ(sent_for_direct_sum(3, 5, 4), (SentVolume{3 * 4, 3})) << "has no part";
  SentVolume sent;
  for (int rank = 0; rank < 7; ++rank) sent += sent_for_direct_sum(1'001, 7, rank);
  EXPECT_EQ(sent, (SentVolume{2 * 6 * 1'001 * 4, 7 * 2 * 6}));
  const Communicator world = Communicator::world();
  std::vector<float> data(100'000);
  Pending pending = world.start_allreduce_sum(data);
  EXPECT_EQ(pending.sent(), sent_for_direct_sum(100'000, world.size(), world.rank()));
}

}  // namespace
}  // namespace runner
