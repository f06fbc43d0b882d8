// Tests of the modes of staging: what each plans, copies and reads.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "runner/agreed_error.h"
#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "staging/pack_list.h"
#include "staging/stage.h"
#include "staging/stage_fixture.h"

namespace staging {
namespace {

TEST_F(StagingOnRanks, PlansNothingWhenSamplesAreStreamed) {
  const runner::Topology topology = nodes(1);
  const auto source = std::make_shared<MemoryDataset>(4);
  source->at_stamp = [] { ADD_FAILURE() << "files are not looked at"; };
  Staging staging({{"set", source, {{1, 4}}}}, {StagingMode::kStream, root_ + "/none"},
                  place(topology));
  EXPECT_EQ(staging.plan(),
            nlohmann::json::parse(R"({"mode": "stream", "set": {"samples": 3, "bytes": null}})"));
  staging.copy();
  EXPECT_EQ(staging.data(0), source);
  EXPECT_EQ(staging.facts(), nlohmann::json::parse(R"({"set": {"mode": "stream"}})"));
  EXPECT_EQ(staging.take_copied_bytes(), 0);
  staging.leave();
  EXPECT_FALSE(fs::exists(root_ + "/none"));
  EXPECT_EQ(source->reads, 0);
}

TEST_F(StagingOnRanks, HoldsTheWholeSetOnEveryNodeWhenFull) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(100);
  const std::int64_t needed = world_.rank();
  const Copied staged = stage_on(topology, source, {{needed, needed + 1}}, Afterwards::kRemove,
                                 Reuse::kUnread, StagingMode::kFull);
  EXPECT_EQ(staged.facts["mode"], "full");
  EXPECT_EQ(staged.facts["samples"], 100 * topology.node_count);
  EXPECT_EQ(staged.staging->plan()["set"]["samples"], 100);
  std::vector<std::int64_t> reads = {source->reads};
  topology.node.allreduce_sum(std::span(reads));
  EXPECT_EQ(reads[0], 100);  // shared by the ranks of the node
  for (std::int64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(content(*staged.data, i), MemoryDataset::text(i));
  }
  // Any run that needs the whole set uses it again.
  EXPECT_EQ(stage_on(topology, source, {{0, 100}}).facts["reused"], true);
}

TEST_F(StagingOnRanks, ReadsEachSampleOnceInTheJobWhenScattered) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(100);
  const Copied staged = stage_on(topology, source, {{0, 100}}, Afterwards::kRemove, Reuse::kUnread,
                                 StagingMode::kScatter);
  EXPECT_EQ(staged.facts["mode"], "scatter");
  EXPECT_EQ(staged.facts["samples"], 100 * topology.node_count);
  std::vector<std::int64_t> sums = {source->reads, staged.staging->take_copied_bytes()};
  world_.allreduce_sum(std::span(sums));
  EXPECT_EQ(sums[0], 100);
  EXPECT_EQ(sums[1], staged.facts["bytes"]);
  for (std::int64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(content(*staged.data, i), MemoryDataset::text(i));
  }
}

TEST_F(StagingOnRanks, ScattersOnlyWhatNodesMissAndOnlyAmongThem) {
  const runner::Topology topology = nodes(4);
  const auto source = std::make_shared<MemoryDataset>(100);
  const std::string set = die_with_copy(topology, 100);
  const PackList packs = list_packs(*source, world_);
  // Node 0 has all; the others miss pack 1, and the last one pack 2, too.
  const bool is_last = topology.node_index == topology.node_count - 1;
  if (topology.is_node_leader() && topology.node_index > 0) {
    fs::remove(set + "/" + pack_file_name(1));
    if (is_last) fs::remove(set + "/" + pack_file_name(2));
  }
  world_.barrier();
  const Copied staged = stage_on(topology, source, {{0, 100}}, Afterwards::kRemove, Reuse::kUnread,
                                 StagingMode::kScatter);
  const auto samples_of = [&](std::int64_t number) {
    return packs.last(number) - packs[number].first;
  };
  std::int64_t expected = 0;
  if (topology.node_count > 1) expected += samples_of(1) + samples_of(2);  // the last node
  if (topology.node_count > 2) expected += samples_of(1);                  // once for the others
  std::vector<std::int64_t> reads = {source->reads};
  world_.allreduce_sum(std::span(reads));
  EXPECT_EQ(reads[0], expected);
  for (std::int64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(content(*staged.data, i), MemoryDataset::text(i));
  }
}

TEST_F(StagingOnRanks, CopiesWithTheRanksWhosePacksFitItsMemory) {
  const runner::Topology topology = nodes(1);
  const auto source = std::make_shared<MemoryDataset>(100);
  StagingConfig config{StagingMode::kShard, directory(topology)};
  config.memory_bytes = 1;
  Staging refused({{"set", source, {{0, 100}}}}, config, place(topology));
  EXPECT_THAT(base::thrown_message<runner::AgreedError>([&] { refused.copy(); }),
              testing::HasSubstr("/staging/memory_bytes: must hold 4 packs of up to "));
  world_.barrier();
  config.memory_bytes = 30000;  // for one rank
  Staging staging({{"set", source, {{0, 100}}}}, config, place(topology));
  staging.copy();
  EXPECT_EQ(source->reads, world_.rank() == 0 ? 100 : 0);
  staging.leave();
}

TEST_F(StagingOnRanks, CountsWhatThisRankCopiedOnce) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(100);
  const Copied first = stage_on(topology, source, {{0, 100}});
  std::vector<std::int64_t> bytes = {first.staging->take_copied_bytes()};
  world_.allreduce_sum(std::span(bytes));
  EXPECT_EQ(bytes[0], first.facts["bytes"]);
  EXPECT_EQ(first.staging->take_copied_bytes(), 0);
  EXPECT_EQ(stage_on(topology, source, {{0, 100}}).staging->take_copied_bytes(), 0);
}

TEST_F(StagingOnRanks, PlansAllSetsWithoutWriting) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(100);
  const Staging staging({{"train", source, {{0, 60}}}, {"validation", source, {{60, 100}}}},
                        {StagingMode::kShard, directory(topology)}, place(topology));
  const nlohmann::json plan = staging.plan();
  EXPECT_EQ(plan["mode"], "shard");
  const PackList packs = list_packs(*source, world_);
  EXPECT_EQ(plan["train"]["samples"], packs.last(packs.pack_of(59)));
  EXPECT_EQ(plan["validation"]["samples"], 100 - packs[packs.pack_of(60)].first);
  EXPECT_EQ(plan["train"]["packs"], packs.pack_of(59) + 1);
  EXPECT_EQ(plan["train"]["missing_packs"], packs.pack_of(59) + 1);
  EXPECT_EQ(plan["fits"], true);
  EXPECT_FALSE(fs::exists(directory(topology)));
  EXPECT_EQ(source->reads, 0);
}

}  // namespace
}  // namespace staging
