// Tests of the mode `auto`: what is chosen, on all ranks alike, and what is told of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "staging/stage.h"
#include "staging/stage_fixture.h"

namespace staging {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class AutoOnRanks : public StagingOnRanks {
 protected:
  static constexpr std::int64_t kSamples = 100;

  /// Rates at which reading the source once takes `source_s` seconds, and a copy next to none.
  static GivenRates rates(double source_s) {
    double bytes = 0.0;
    for (std::int64_t i = 0; i < kSamples; ++i) {
      bytes += static_cast<double>(MemoryDataset::text(i).size());
    }
    GivenRates given;
    given.rates = Rates{.source = bytes / source_s, .local_write = 1e12, .local_read = 1e12};
    given.cache_bytes = 0;
    return given;
  }
  StagingConfig config(const runner::Topology& topology, const GivenRates& given) const {
    return {.mode = StagingMode::kAuto, .directory = directory(topology), .given = given};
  }
  /// All ranks need all samples, and read them once in an epoch together.
  std::unique_ptr<Staging> staging_of(const std::shared_ptr<MemoryDataset>& source,
                                      const runner::Topology& topology, const StagingConfig& config,
                                      std::int64_t epochs) const {
    return std::make_unique<Staging>(
        std::vector<Wanted>{
            {"set", source, {{0, kSamples}}, static_cast<double>(kSamples) / world_.size()}},
        config, place(topology), Outlook{.epochs = epochs});
  }
  void expect_the_same_everywhere(const json& value) const {
    std::string mine = value.dump();
    EXPECT_EQ(world_.broadcast(mine, 0), mine);
  }
};

TEST_F(AutoOnRanks, CopiesWhereThatTakesLessTime) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(kSamples);
  const auto staging = staging_of(source, topology, config(topology, rates(10.0)), 5);
  staging->copy();
  EXPECT_EQ(staging->mode(), StagingMode::kShard);
  const json facts = staging->facts();
  expect_the_same_everywhere(facts);
  EXPECT_EQ(facts["set"]["mode"], "shard");
  EXPECT_EQ(facts["choice"]["chosen"], "shard");
  EXPECT_EQ(facts["choice"]["epochs"], 5);
  EXPECT_EQ(facts["choice"]["rates_are_given"], true);
  EXPECT_EQ(facts["choice"]["probe"], nullptr);
  // Each node reads the whole set, at 10 s for the set; so do all nodes together in an epoch.
  EXPECT_NEAR(facts["choice"]["staging_s"].get<double>(), 10.0 * topology.node_count, 0.1);
  EXPECT_NEAR(facts["choice"]["break_even_epochs"].get<double>(), topology.node_count, 0.01);
  EXPECT_NEAR(facts["choice"]["modes"][0]["total_s"].get<double>(), 50.0, 0.5);
  EXPECT_THAT(facts["choice"]["reason"].get<std::string>(), HasSubstr("so that it pays off after"));
  for (std::int64_t i = 0; i < kSamples; ++i) {
    ASSERT_EQ(content(*staging->data(0), i), MemoryDataset::text(i));
  }
  staging->leave();
}

TEST_F(AutoOnRanks, ScattersWhereTheNetworkIsFasterThanTheSource) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(kSamples);
  GivenRates fast_network = rates(10.0);
  fast_network.rates->network = 1e12;
  const auto staging = staging_of(source, topology, config(topology, fast_network), 5);
  staging->copy();
  const bool has_others = topology.node_count > 1;
  EXPECT_EQ(staging->mode(), has_others ? StagingMode::kScatter : StagingMode::kShard);
  EXPECT_EQ(staging->facts()["set"]["mode"], has_others ? "scatter" : "shard");
  EXPECT_NEAR(staging->facts()["choice"]["staging_s"].get<double>(), 10.0, 0.1);
  std::vector<std::int64_t> reads = {source->reads};
  world_.allreduce_sum(std::span(reads));
  EXPECT_EQ(reads[0], kSamples);
  for (std::int64_t i = 0; i < kSamples; ++i) {
    ASSERT_EQ(content(*staging->data(0), i), MemoryDataset::text(i));
  }
  staging->leave();
}

TEST_F(AutoOnRanks, ScattersBesideTraining) {
  const runner::Topology topology = nodes(2);
  if (topology.node_count < 2) return;
  const auto source = std::make_shared<MemoryDataset>(kSamples);
  GivenRates fast_network = rates(10.0);
  fast_network.rates->network = 1e12;
  StagingConfig beside = config(topology, fast_network);
  beside.overlap = true;
  const auto staging = staging_of(source, topology, beside, 5);
  staging->copy();
  EXPECT_EQ(staging->mode(), StagingMode::kScatter);
  EXPECT_TRUE(staging->is_under_way());
  while (!staging->finish(Finish::kIfDone)) staging->advance();
  const json facts = staging->facts();
  EXPECT_EQ(facts["set"]["overlap"], true);
  EXPECT_EQ(facts["set"]["left_bytes"], 0);
  EXPECT_THAT(facts["choice"]["reason"].get<std::string>(), HasSubstr("staging beside the first"));
  // The first epoch reads half of its samples from the source, and copying each once.
  EXPECT_NEAR(facts["choice"]["modes"][2]["total_s"].get<double>(), 15.0, 0.1);
  staging->leave();
}

TEST_F(AutoOnRanks, StreamsWhereACopyDoesNotPay) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(kSamples);
  const auto staging = staging_of(source, topology, config(topology, rates(10.0)), 1);
  staging->copy();
  EXPECT_EQ(staging->mode(), StagingMode::kStream);
  EXPECT_EQ(staging->data(0), source);
  EXPECT_EQ(staging->facts()["set"], json({{"mode", "stream"}}));
  EXPECT_EQ(staging->facts()["choice"]["chosen"], "stream");
  expect_the_same_everywhere(staging->facts());
  EXPECT_EQ(source->reads, 0);
  EXPECT_FALSE(fs::exists(directory(topology)));
  staging->leave();
}

TEST_F(AutoOnRanks, StreamsWhereACopyHasNoRoom) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(kSamples);
  source->claimed_bytes = std::int64_t{1} << 50;
  const auto staging = staging_of(source, topology, config(topology, rates(10.0)), 5);
  staging->copy();
  EXPECT_EQ(staging->mode(), StagingMode::kStream);
  EXPECT_THAT(staging->facts()["choice"]["reason"].get<std::string>(),
              testing::AllOf(HasSubstr("a copy has no room on node "), HasSubstr(" are free")));
}

TEST_F(AutoOnRanks, MeasuresNothingForLittle) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(kSamples);
  StagingConfig measured = config(topology, {});
  const auto staging = staging_of(source, topology, measured, 1000);
  staging->copy();
  EXPECT_EQ(staging->mode(), StagingMode::kStream);
  EXPECT_EQ(staging->facts()["choice"]["probe"], nullptr);
  EXPECT_EQ(staging->facts()["choice"]["rates"], nullptr);
  EXPECT_EQ(staging->facts()["choice"]["modes"], nullptr);
  EXPECT_EQ(source->reads, 0);
}

TEST_F(AutoOnRanks, MeasuresWhatMatters) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(kSamples);
  source->claimed_bytes = 20'000'000;
  GivenRates no_cache;
  no_cache.cache_bytes = 0;
  const auto staging = staging_of(source, topology, config(topology, no_cache), 9);
  const json plan = staging->plan();
  expect_the_same_everywhere(plan["choice"]);
  EXPECT_GT(plan["choice"]["probe"]["source_bytes"], 0);
  EXPECT_GT(plan["choice"]["probe"]["written_bytes"], 0);
  EXPECT_GT(plan["choice"]["rates"]["local_write"], 0.0);
  EXPECT_EQ(plan["choice"]["rates_are_given"], false);
  EXPECT_FALSE(fs::exists(directory(topology)));
}

TEST_F(AutoOnRanks, UsesCopiesThatAreThere) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(kSamples);
  (void)stage_on(topology, source, {{0, kSamples}}, Afterwards::kKeep);
  const std::int64_t reads = source->reads;
  const auto staging = staging_of(source, topology, config(topology, rates(10.0)), 1);
  staging->copy();
  EXPECT_EQ(staging->mode(), StagingMode::kShard);
  EXPECT_EQ(staging->facts()["choice"]["reason"], "every node has a copy of what its ranks need");
  EXPECT_EQ(staging->facts()["set"]["reused"], true);
  EXPECT_EQ(source->reads, reads);
  staging->leave();
}

TEST_F(AutoOnRanks, RemovesWhatDeadJobsLeftWhenItStreams) {
  const runner::Topology topology = nodes(2);
  const std::string left = die_with_copy(topology, 40);
  const auto source = std::make_shared<MemoryDataset>(kSamples);
  const auto staging = staging_of(source, topology, config(topology, rates(10.0)), 1);
  staging->copy();
  world_.barrier();
  EXPECT_EQ(staging->mode(), StagingMode::kStream);
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(AutoOnRanks, CopiesWhatIsToBeKept) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(kSamples);
  for (const GivenRates& given : {rates(10.0), GivenRates()}) {
    StagingConfig kept = config(topology, given);
    kept.afterwards = Afterwards::kKeep;
    kept.directory += given.rates ? "/given" : "/unknown";
    const auto staging = staging_of(source, topology, kept, 1);
    staging->copy();
    EXPECT_EQ(staging->mode(), StagingMode::kShard);
    EXPECT_THAT(staging->facts()["choice"]["reason"].get<std::string>(),
                HasSubstr("a copy is to be kept"));
  }
}

TEST_F(AutoOnRanks, IsPlannedByNode) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(kSamples);
  const json plan = staging_of(source, topology, config(topology, rates(10.0)), 5)->plan();
  EXPECT_EQ(plan["mode"], "shard");
  EXPECT_EQ(plan["fits"], true);
  EXPECT_EQ(plan["set"]["samples"], kSamples);
  ASSERT_EQ(std::ssize(plan["nodes"]), topology.node_count);
  for (const json& node : plan["nodes"]) {
    EXPECT_EQ(node["needed_bytes"], plan["set"]["bytes"]);
    EXPECT_EQ(node["missing_bytes"], plan["set"]["bytes"]);
    EXPECT_EQ(node["staging_s"], plan["choice"]["staging_s"]);
    EXPECT_GT(node["free_bytes"], 0);
    EXPECT_NE(node["host"], "");
  }
  expect_the_same_everywhere(plan["nodes"]);
  EXPECT_EQ(source->reads, 0);
  const json streamed = staging_of(source, topology, config(topology, rates(10.0)), 1)->plan();
  EXPECT_EQ(streamed["mode"], "stream");
  EXPECT_EQ(streamed["set"], json({{"samples", kSamples}, {"bytes", nullptr}}));
  EXPECT_EQ(streamed["nodes"][0]["staging_s"], 0.0);
  EXPECT_FALSE(fs::exists(directory(topology)));
}

TEST_F(AutoOnRanks, TellsTheTimeOfAModeThatIsGiven) {
  const runner::Topology topology = nodes(2);
  const auto source = std::make_shared<MemoryDataset>(kSamples);
  StagingConfig given = config(topology, rates(10.0));
  given.mode = StagingMode::kFull;
  const json plan = staging_of(source, topology, given, 5)->plan();
  EXPECT_EQ(plan["mode"], "full");
  EXPECT_EQ(plan["choice"]["reason"], "staging.mode is full");
  EXPECT_NEAR(plan["choice"]["staging_s"].get<double>(), 10.0 * topology.node_count, 0.1);
}

}  // namespace
}  // namespace staging
