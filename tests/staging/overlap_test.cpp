// Tests of copying that goes on while samples are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "runner/base/system_facts.h"
#include "runner/stop_signals.h"
#include "staging/overlap_fixture.h"

namespace staging {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

TEST_F(OverlapOnRanks, ReadsEachSampleFromWhereItIs) {
  for (const int node_count : {1, 2}) {
    const runner::Topology topology = nodes(node_count);
    std::atomic<bool> is_open = false;
    const auto source = source_with([&is_open] { is_open.wait(false); });
    const auto staging = begin(topology, source);
    EXPECT_TRUE(staging->is_under_way());
    expect_all_readable(*staging);
    EXPECT_EQ(staging->take_levels()->source_samples, kSize);
    EXPECT_FALSE(staging->finish(Finish::kIfDone));
    is_open = true;
    is_open.notify_all();
    wait_for_end(*staging);
    EXPECT_FALSE(staging->is_under_way());
    const nlohmann::json facts = staging->facts().at("set");
    EXPECT_EQ(facts["overlap"], true);
    EXPECT_EQ(facts["left_bytes"], 0);
    EXPECT_EQ(facts["samples"], kSize * topology.node_count);
    EXPECT_EQ(facts["source_reads"], kSize * topology.node_count);
    std::vector<std::int64_t> copied = {staging->take_copied_bytes()};
    world_.allreduce_sum(std::span(copied));
    EXPECT_EQ(copied[0], all_bytes() * topology.node_count);
    expect_all_readable(*staging);
    EXPECT_EQ(staging->take_levels()->copy_samples, kSize);  // also of packs that others copied
    staging->leave();
    EXPECT_TRUE(fs::is_empty(directory(topology)));
    world_.barrier();
  }
}

TEST_F(OverlapOnRanks, LeavesTheRestToALaterRunWhenItIsEndedEarly) {
  const runner::Topology topology = nodes(2);
  const auto slow = source_with([] { std::this_thread::sleep_for(20ms); });
  std::int64_t left = 0;
  {
    const auto staging = begin(topology, slow, Afterwards::kKeep);
    EXPECT_TRUE(staging->finish(Finish::kNow));
    const nlohmann::json facts = staging->facts().at("set");
    left = facts["left_bytes"].get<std::int64_t>();
    EXPECT_GT(left, 0);
    EXPECT_EQ(facts["bytes"].get<std::int64_t>() + left, all_bytes() * topology.node_count);
    expect_all_readable(*staging);
    staging->leave();
  }
  const auto again = std::make_shared<MemoryDataset>(kSize);
  const Copied rest = stage_on(topology, again, {{0, kSize}});
  EXPECT_EQ(rest.facts["source_bytes"], left);
  expect_all_readable(*rest.staging);
}

TEST_F(OverlapOnRanks, FailsNothingButItselfWhenASampleCannotBeCopied) {
  const runner::Topology topology = nodes(2);
  const auto source = source_with([] { throw base::DataError("a.bin: damaged"); });
  const auto staging = begin(topology, source);
  wait_for_end(*staging);
  const nlohmann::json facts = staging->facts().at("set");
  EXPECT_EQ(facts["left_bytes"], all_bytes() * topology.node_count);
  EXPECT_EQ(facts["samples"], 0);
  expect_all_readable(*staging);
  EXPECT_THAT(staging->data(0)->take_remarks(),
              ElementsAre(testing::AllOf(HasSubstr(base::host_name()),
                                         HasSubstr("samples that were not copied are read from "
                                                   "their source: a.bin: damaged"))));
  staging->leave();
  EXPECT_TRUE(fs::is_empty(directory(topology)));
}

TEST_F(OverlapOnRanks, EndsWhenARankIsToldToEnd) {
  const runner::Topology topology = nodes(2);
  const runner::StopSignals signals;
  // Once: a third one within a stall of seconds would end the process.
  std::atomic<bool> is_told = world_.rank() != world_.size() - 1;
  const auto source = source_with([&is_told] {
    if (!is_told.exchange(true)) raise(SIGTERM);
    std::this_thread::sleep_for(1ms);
  });
  const auto staging = begin(topology, source);
  wait_for_end(*staging);
  EXPECT_GT(staging->facts().at("set")["left_bytes"], 0);
  expect_all_readable(*staging);
}

TEST_F(OverlapOnRanks, HasNothingToDoWhereAllIsThere) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(kSize);
  const auto staging = begin(topology, source);
  wait_for_end(*staging);
  for (const StagingMode mode : {StagingMode::kShard, StagingMode::kScatter}) {
    const auto again = begin(topology, source, Afterwards::kRemove, mode);
    EXPECT_FALSE(again->is_under_way());
    EXPECT_TRUE(again->finish(Finish::kNow));
    EXPECT_EQ(again->facts().at("set")["reused"], true);
    EXPECT_EQ(again->facts().at("set")["overlap"], false);
  }
}

TEST_F(OverlapOnRanks, CopiesOnceWhatTwoSetsShare) {
  const runner::Topology topology = nodes(1);
  const auto source = std::make_shared<MemoryDataset>(kSize);
  StagingConfig config{StagingMode::kShard, directory(topology)};
  config.overlap = true;
  Staging staging({{"one", source, {{0, kSize}}}, {"other", source, {{0, kSize}}}}, config,
                  place(topology));
  staging.copy();
  wait_for_end(staging);
  EXPECT_EQ(staging.facts().at("one")["source_reads"], kSize);
  EXPECT_EQ(staging.facts().at("other")["source_reads"], 0);
  EXPECT_EQ(staging.facts().at("other")["samples"], kSize);
}

TEST_F(OverlapOnRanks, EndsWithItsOwner) {
  const runner::Topology topology = nodes(world_.size());
  const auto source = source_with([] { std::this_thread::sleep_for(5ms); });
  begin(topology, source).reset();
  EXPECT_TRUE(fs::is_empty(directory(topology)));
}

}  // namespace
}  // namespace staging
