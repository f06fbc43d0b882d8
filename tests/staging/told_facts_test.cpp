// Tests of what staging tells about itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runner/base/fake_clock.h"
#include "runner/base/system_facts.h"
#include "staging/pack_file.h"
#include "staging/pack_list.h"
#include "staging/stage_fixture.h"

namespace staging {
namespace {

using nlohmann::json;
using testing::ElementsAre;

std::int64_t bytes_of(const dataset::Dataset& source) {
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < source.size(); ++i) bytes += source.bytes(i);
  return bytes;
}

TEST_F(StagingOnRanks, TellsWhatItDid) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(100);
  const json first = stage_on(topology, source, {{0, 100}}).facts;
  const PackList packs = list_packs(*source, world_);
  const std::int64_t bytes = bytes_of(*source), count = topology.node_count;
  std::int64_t written = 0;
  for (std::int64_t i = 0; i < packs.count(); ++i) written += image_bytes(packs, i);
  EXPECT_EQ(first["mode"], "shard");
  EXPECT_EQ(first["nodes"], count);
  EXPECT_EQ(first["samples"], 100 * count);
  EXPECT_EQ(first["bytes"], bytes * count);
  EXPECT_EQ(first["packs"], packs.count() * count);
  EXPECT_EQ(first["source_reads"], 100 * count);
  EXPECT_EQ(first["source_bytes"], bytes * count);
  EXPECT_EQ(first["network_bytes"], 0);
  EXPECT_EQ(first["written_bytes"], written * count);
  EXPECT_EQ(first["direct_bytes"], 0);
  EXPECT_GT(first["memory_bytes"], image_bytes(packs, 0));
  EXPECT_LE(first["memory_bytes"], StagingConfig().memory_bytes);
  EXPECT_EQ(first["resumed_bytes"], 0);
  EXPECT_EQ(first["reused_nodes"], 0);
  EXPECT_EQ(first["reused"], false);
  EXPECT_EQ(first["imbalance"], 1.0);
  EXPECT_EQ(first["slowest"].size(), static_cast<std::size_t>(count));
  EXPECT_EQ(first["slowest"][0]["host"], base::host_name());
  EXPECT_GT(first["seconds"]["min"], 0.0);
  EXPECT_LE(first["bytes_per_second"]["min"], first["bytes_per_second"]["max"]);
}

TEST_F(StagingOnRanks, TellsWhatItFoundThere) {
  const runner::Topology topology = nodes(1);
  const auto source = std::make_shared<MemoryDataset>(100);
  const std::string set = stage_on(topology, source, {{0, 100}}, Afterwards::kKeep).directory;
  const PackList packs = list_packs(*source, world_);
  on_leader(world_, [&] { fs::remove(pack_files(set)[1]); });
  const json rest = stage_on(topology, source, {{0, 100}}, Afterwards::kKeep).facts;
  EXPECT_EQ(rest["bytes"], bytes_of(*source));
  EXPECT_EQ(rest["source_bytes"], packs[1].bytes);
  EXPECT_EQ(rest["written_bytes"], image_bytes(packs, 1));
  EXPECT_EQ(rest["resumed_bytes"], bytes_of(*source) - packs[1].bytes);
  EXPECT_EQ(rest["reused_nodes"], 0);
  const json all = stage_on(topology, source, {{0, 100}}).facts;
  EXPECT_EQ(all["source_bytes"], 0);
  EXPECT_EQ(all["memory_bytes"], 0);
  EXPECT_EQ(all["resumed_bytes"], 0);
  EXPECT_EQ(all["reused_nodes"], 1);
  EXPECT_EQ(all["imbalance"], 0.0);
  EXPECT_EQ(all["slowest"], json::array());
  EXPECT_EQ(all["bytes_per_second"],
            json::parse(R"({"min":0.0,"median":0.0,"mean":0.0,"max":0.0})"));
}

/// Each rank is a node, with a clock of its own, which only reading of samples moves.
TEST_F(StagingOnRanks, TellsTheSlowestHostsByName) {
  const int count = world_.size();
  const runner::Topology topology = nodes(count);
  const auto source = std::make_shared<MemoryDataset>(100);
  base::FakeClock clock;
  const bool is_slow = world_.rank() == count - 1;
  source->at_read = [&] { clock.nanoseconds += (is_slow ? 10 : 1) * base::kSecondNs; };
  source->at_stamp = [&] {
    if (source->reads == 0) clock.nanoseconds += base::kSecondNs;  // of the plan
  };
  Staging staging({{"set", source, {{0, 100}}}}, {StagingMode::kShard, directory(topology)},
                  {world_, topology, clock});
  EXPECT_TRUE(staging.take_remarks().empty());
  staging.copy();
  const json facts = staging.facts()["set"];
  const double bytes = static_cast<double>(bytes_of(*source));
  const double slow = bytes / 1000.0, fast = count > 1 ? bytes / 100.0 : slow;
  EXPECT_EQ(facts["seconds"]["max"], 1000.0);
  EXPECT_EQ(facts["seconds"]["min"], count > 1 ? 100.0 : 1000.0);
  const auto largest_part = static_cast<double>((100 + count - 1) / count);
  EXPECT_EQ(facts["planning_s"], largest_part) << "each rank examines a part";
  EXPECT_EQ(facts["bytes_per_second"]["min"], slow);
  EXPECT_EQ(facts["bytes_per_second"]["max"], fast);
  EXPECT_EQ(facts["bytes_per_second"]["median"], count == 2 ? (slow + fast) / 2 : fast);
  EXPECT_EQ(facts["slowest"][0],
            (json{{"host", base::host_name()}, {"seconds", 1000.0}, {"bytes_per_second", slow}}));
  const std::vector<std::string> remarks = staging.take_remarks();
  if (world_.rank() > 0 || count == 1) {
    EXPECT_TRUE(remarks.empty());
  } else {
    EXPECT_THAT(
        remarks,
        ElementsAre("staging of set: " + base::host_name() + " staged 35.5 B/s, the median is " +
                    (count == 2 ? "195" : "355") + " B/s: check its disk (iostat -x 1)"));
  }
  EXPECT_TRUE(staging.take_remarks().empty());
}

}  // namespace
}  // namespace staging
