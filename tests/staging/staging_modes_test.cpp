// Tests of the modes of staging: what each plans, copies and reads.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

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
