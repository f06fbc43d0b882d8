// Tests of packs that nodes pass on to each other while samples are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <span>
#include <thread>

#include "runner/base/system_facts.h"
#include "staging/overlap_fixture.h"

namespace staging {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

class RingBesideOnRanks : public OverlapOnRanks {
 protected:
  std::unique_ptr<Staging> begin_ring(const runner::Topology& topology,
                                      const std::shared_ptr<const dataset::Dataset>& source,
                                      Afterwards afterwards = Afterwards::kRemove) const {
    return begin(topology, source, afterwards, StagingMode::kScatter);
  }
  std::int64_t sum(std::int64_t value) const {
    world_.allreduce_sum(std::span(&value, 1));
    return value;
  }
};

TEST_F(RingBesideOnRanks, ReadsEachSampleOnceAndServesItFromWhereItIs) {
  for (const int node_count : {1, 2, 4}) {
    const runner::Topology topology = nodes(node_count);
    std::atomic<bool> is_open = false;
    const auto source = source_with([&is_open] { is_open.wait(false); });
    const auto staging = begin_ring(topology, source);
    EXPECT_TRUE(staging->is_under_way());
    for (int look = 0; look < 10; ++look) staging->advance();
    expect_all_readable(*staging);
    EXPECT_EQ(staging->take_levels()->source_samples, kSize);
    EXPECT_FALSE(staging->finish(Finish::kIfDone));
    is_open = true;
    is_open.notify_all();
    wait_for_end(*staging);
    EXPECT_FALSE(staging->is_under_way());
    const nlohmann::json facts = staging->facts().at("set");
    EXPECT_EQ(facts["mode"], "scatter");
    EXPECT_EQ(facts["overlap"], true);
    EXPECT_EQ(facts["left_bytes"], 0);
    EXPECT_EQ(facts["samples"], kSize * topology.node_count);
    EXPECT_EQ(facts["source_reads"], kSize);
    EXPECT_EQ(facts["network_bytes"] > 0, topology.node_count > 1);
    EXPECT_EQ(sum(staging->take_copied_bytes()), all_bytes() * topology.node_count);
    expect_all_readable(*staging);
    EXPECT_EQ(staging->take_levels()->copy_samples, kSize);
    EXPECT_THAT(staging->data(0)->take_remarks(), IsEmpty());
    staging->leave();
    EXPECT_TRUE(fs::is_empty(directory(topology)));
    world_.barrier();
  }
}

TEST_F(RingBesideOnRanks, ServesWhatHasComeWhileTheSourceIsSlow) {
  const runner::Topology topology = nodes(world_.size());
  // Rank 0 reads the first pack, which has 30 samples or so, and no second one until it is let.
  std::atomic<std::int64_t> reads = world_.rank() == 0 ? 0 : -kSize;
  std::atomic<bool> is_open = false;
  const auto source = source_with([&] {
    if (++reads > 40) is_open.wait(false);
  });
  StagingConfig config{StagingMode::kScatter, directory(topology)};
  config.overlap = true;
  config.readers = config.writers = 1;
  Staging staging({{"set", source, {{0, kSize}}}}, config, place(topology));
  staging.copy();
  LevelCounts levels;
  while (levels.copy_samples == 0) {
    staging.advance();
    expect_all_readable(staging);
    levels = *staging.take_levels();
  }
  EXPECT_GT(levels.source_samples, 0);
  EXPECT_FALSE(staging.finish(Finish::kIfDone));
  is_open = true;
  is_open.notify_all();
  wait_for_end(staging);
  EXPECT_EQ(staging.facts().at("set")["left_bytes"], 0);
  expect_all_readable(staging);
}

TEST_F(RingBesideOnRanks, EndsEarlyWhereverItsRanksAre) {
  const runner::Topology topology = nodes(world_.size());
  for (const int looks : {0, 1, 5, 30}) {
    const auto slow = source_with([] { std::this_thread::sleep_for(5ms); });
    std::int64_t left = 0;
    {
      const auto staging = begin_ring(topology, slow, Afterwards::kKeep);
      for (int look = 0; look < looks * world_.rank(); ++look) {
        staging->advance();
        std::this_thread::sleep_for(1ms);
      }
      EXPECT_TRUE(staging->finish(Finish::kNow));
      EXPECT_FALSE(staging->is_under_way());
      const nlohmann::json facts = staging->facts().at("set");
      left = facts["left_bytes"].get<std::int64_t>();
      EXPECT_GT(left, 0);
      EXPECT_EQ(facts["bytes"].get<std::int64_t>() + left, all_bytes() * topology.node_count);
      expect_all_readable(*staging);
      EXPECT_THAT(staging->data(0)->take_remarks(), IsEmpty());
      staging->leave();
    }
    on_leader(world_, [&] {
      for (int node = 0; node < topology.node_count; ++node) {
        fs::remove_all(root_ + "/node" + std::to_string(node));
      }
    });
  }
}

TEST_F(RingBesideOnRanks, EndsEarlyWhileSomeRanksCopyAnotherSet) {
  if (world_.size() != 4) return;
  const runner::Topology topology = nodes(4);
  // Of the first set, the last two nodes need less, and so make a ring of their own.
  const bool needs_all = world_.rank() < 2;
  std::atomic<bool> is_open = !needs_all;
  const auto first = source_with([&is_open] { is_open.wait(false); });
  const auto second = std::make_shared<MemoryDataset>(kSize);
  StagingConfig config{StagingMode::kScatter, directory(topology)};
  config.overlap = true;
  Staging staging(
      {{"first", first, {{0, needs_all ? kSize : kSize / 2}}}, {"second", second, {{0, kSize}}}},
      config, place(topology));
  const std::int64_t examined = second->reads;
  staging.copy();
  while (!needs_all && second->reads == examined) staging.advance();
  for (int look = 0; look < 50; ++look) {
    staging.advance();
    std::this_thread::sleep_for(1ms);
  }
  is_open = true;
  is_open.notify_all();
  EXPECT_TRUE(staging.finish(Finish::kNow));
  EXPECT_GT(staging.facts().at("first")["left_bytes"], 0);
  EXPECT_GT(staging.facts().at("second")["left_bytes"], 0);
  expect_all_readable(staging);
}

TEST_F(RingBesideOnRanks, LeavesOutAPackThatARankCannotRead) {
  const runner::Topology topology = nodes(world_.size());
  std::atomic<bool> has_failed = world_.rank() != 0;
  const auto source = source_with([&has_failed] {
    if (!has_failed.exchange(true)) throw base::DataError("a.bin: damaged");
  });
  const auto staging = begin_ring(topology, source);
  wait_for_end(*staging);
  const nlohmann::json facts = staging->facts().at("set");
  const std::int64_t left = facts["left_bytes"];
  EXPECT_GT(left, 0);
  EXPECT_EQ(left % topology.node_count, 0) << "the same on each node";
  EXPECT_LT(left, all_bytes() * topology.node_count);
  expect_all_readable(*staging);
  const auto remarks = staging->data(0)->take_remarks();
  if (world_.rank() == 0) {
    EXPECT_THAT(remarks, ElementsAre(testing::AllOf(
                             HasSubstr(base::host_name()),
                             HasSubstr("samples that were not copied are read from their source: "
                                       "a.bin: damaged"))));
  } else {
    EXPECT_THAT(remarks, IsEmpty());
  }
  staging->leave();
  EXPECT_TRUE(fs::is_empty(directory(topology)));
}

TEST_F(RingBesideOnRanks, PassesOnWhatANodeCannotWrite) {
  const runner::Topology topology = nodes(world_.size());
  const bool is_last = world_.rank() == world_.size() - 1;
  std::atomic<bool> is_open = false;
  const auto source = source_with([&is_open] { is_open.wait(false); });
  const auto staging = begin_ring(topology, source);
  if (is_last) {
    for (const auto& entry : fs::directory_iterator(directory(topology))) {
      if (entry.is_directory()) fs::remove_all(entry.path());
    }
  }
  is_open = true;
  is_open.notify_all();
  wait_for_end(*staging);
  const nlohmann::json facts = staging->facts().at("set");
  EXPECT_EQ(facts["left_bytes"], all_bytes());
  EXPECT_EQ(facts["source_reads"], kSize);
  expect_all_readable(*staging);
  EXPECT_EQ(staging->take_levels()->copy_samples, is_last ? 0 : kSize);
  const auto remarks = staging->data(0)->take_remarks();
  if (is_last) {
    EXPECT_THAT(remarks, ElementsAre(HasSubstr("samples that were not copied are read from")));
  } else {
    EXPECT_THAT(remarks, IsEmpty());
  }
}

TEST_F(RingBesideOnRanks, GivesWayToThreadsThatTrain) {
  const auto niceness = [] { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid())); };
  const runner::Topology topology = nodes(world_.size());
  std::atomic<int> of_copying = -100;
  const auto source = source_with([&] { of_copying = niceness(); });
  const auto staging = begin_ring(topology, source);
  wait_for_end(*staging);
  EXPECT_GT(of_copying, std::min(niceness(), 18));
}

TEST_F(RingBesideOnRanks, EndsWithItsOwner) {
  const runner::Topology topology = nodes(world_.size());
  const auto source = source_with([] { std::this_thread::sleep_for(5ms); });
  auto staging = begin_ring(topology, source);
  for (int look = 0; look < 20 * world_.rank(); ++look) {
    staging->advance();
    std::this_thread::sleep_for(1ms);
  }
  staging.reset();
  EXPECT_TRUE(fs::is_empty(directory(topology)));
}

}  // namespace
}  // namespace staging
