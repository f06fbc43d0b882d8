// Tests of where the CosmoFlow workload reads its samples: kept, cached, compressed or shared.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "runner/pretend_nodes.h"
#include "staging/dataset/compressed.h"
#include "staging/dataset/universe_folder.h"
#include "workloads/cosmoflow/trial.h"
#include "workloads/cosmoflow/workload.h"

namespace {

namespace fs = std::filesystem;
using cosmoflow::config_of;
using cosmoflow::kBatch;
using cosmoflow::kStepsPerEpoch;
using cosmoflow::kTrainSamples;
using cosmoflow::kValidationSamples;
using cosmoflow::random_config_of;
using cosmoflow::SharedUniverses;
using cosmoflow::Split;
using cosmoflow::splits_of;
using cosmoflow::Trial;
using nlohmann::json;
using telemetry::Counter;
using testing::HasSubstr;

class CosmoFlowData : public testing::Test {
 protected:
  std::int64_t sum_over_ranks(std::int64_t value) const {
    world_.allreduce_sum(std::span<std::int64_t>(&value, 1));
    return value;
  }

  const runner::Communicator world_ = runner::Communicator::world();
  const runner::Communicator alone_ = world_.split(-1, 0);
  const SharedUniverses universes_{world_};
};

/// Cached samples are not read again. The second epoch reads the one of 40 samples that the first
/// one left out.
TEST_F(CosmoFlowData, ReadsWhatItKeepsOnce) {
  json keeping = random_config_of(universes_, "stream");
  keeping["dataset"]["cache_bytes"] = 100'000'000;
  Trial keeps(alone_, keeping), reads(alone_, random_config_of(universes_, "stream"));
  for (Trial* const trial : {&keeps, &reads}) {
    trial->workload().train(3 * kStepsPerEpoch);  // to the end, so that nothing is prefetched
    trial->workload().evaluate(nullptr);
    trial->workload().evaluate(nullptr);
  }
  EXPECT_EQ(keeps.weights(), reads.weights());
  EXPECT_LT(keeps.count(Counter::kBytesRead), reads.count(Counter::kBytesRead) / 2);
  EXPECT_EQ(reads.count(Counter::kSamplesFromMemory), 0);
  EXPECT_EQ(keeps.count(Counter::kSamplesFromSource) + keeps.count(Counter::kSamplesFromMemory),
            reads.count(Counter::kSamplesFromSource));
}

/// Caches in memory and on disk, with and without peers, that know the future and that do not.
TEST_F(CosmoFlowData, TrainsToTheSameBitsThroughCaches) {
  const auto train = [&](const json& cache) {
    json config = random_config_of(universes_, "stream");
    config["cache"] = cache;
    Trial trial(world_, config);
    trial.workload().train(3 * kStepsPerEpoch);
    trial.workload().evaluate(nullptr);
    std::vector<std::int64_t> counts;
    for (const Counter counter :
         {Counter::kSamplesFromSource, Counter::kSamplesFromMemory, Counter::kSamplesFromDisk,
          Counter::kSamplesFromPeers, Counter::kBytesRead}) {
      counts.push_back(sum_over_ranks(trial.count(counter)));
    }
    const std::uint64_t hash = trial.workload().replica_hash();
    trial.workload().clean_up();
    return std::pair(hash, counts);
  };
  const auto [expected, read] = train({{"policy", "none"}, {"memory_bytes", 1 << 30}});
  EXPECT_EQ(read[1] + read[2] + read[3], 0);
  for (const json& cache : {json{{"memory_bytes", 500'000}, {"disk_bytes", 500'000}},
                            json{{"disk_bytes", 1 << 20}, {"peers", false}},
                            json{{"memory_bytes", 1 << 20}, {"policy", "lru"}}}) {
    SCOPED_TRACE(cache.dump());
    const auto [hash, counts] = train(cache);
    EXPECT_EQ(hash, expected);
    EXPECT_LT(counts[0], read[0]);
    EXPECT_EQ(counts[0] + counts[1] + counts[2] + counts[3], read[0]);
    EXPECT_EQ(counts[4], read[4]);
    EXPECT_EQ(counts[3] > 0, cache.value("peers", true) && world_.size() > 1);
  }
}

/// Read in place, from caches, and from copies.
TEST_F(CosmoFlowData, TrainsToTheSameBitsFromCompressedSamples) {
  const SharedUniverses universes(world_, dataset::UniverseFormat::kTfrecord);
  const auto train = [&](const json& sections) {
    json config = random_config_of(universes, "stream");
    config.merge_patch(sections);
    Trial trial(world_, config);
    trial.workload().train(kStepsPerEpoch + 1);
    const double error = trial.workload().evaluate(nullptr);
    const std::pair found(trial.workload().replica_hash(), error);
    trial.workload().clean_up();
    return found;
  };
  const auto expected = train(json::object());
  if (world_.rank() == 0) {
    dataset::compress_files(universes.path() + "/data/train");
    dataset::compress_files(universes.path() + "/data/validation");
  }
  world_.barrier();
  for (const json& sections :
       {json::object(), json{{"cache", {{"memory_bytes", 500'000}, {"disk_bytes", 500'000}}}},
        json{{"staging", {{"mode", "shard"}}}},
        json{{"staging", {{"mode", "shard"}, {"expand", false}}}},
        json{{"staging", {{"mode", "scatter"}}}},
        json{{"staging", {{"mode", "full"}, {"overlap", true}}}}}) {
    EXPECT_EQ(train(sections), expected) << sections.dump();
  }
}

/// One archive with both sets, compressed in part.
TEST_F(CosmoFlowData, TrainsToTheSameBitsFromAnArchive) {
  const SharedUniverses universes(world_, dataset::UniverseFormat::kTfrecord);
  const auto train = [&](const json& sections) {
    json config = random_config_of(universes, "stream");
    config.merge_patch(sections);
    Trial trial(world_, config);
    trial.workload().train(kStepsPerEpoch + 1);
    const double error = trial.workload().evaluate(nullptr);
    const std::pair found(trial.workload().replica_hash(), error);
    trial.workload().clean_up();
    return found;
  };
  const auto expected = train(json::object());
  const std::string archive = universes.path() + "/data.tar";
  int status = 0;
  if (world_.rank() == 0) {
    dataset::compress_files(universes.path() + "/data/train");
    const std::string folder = universes.path() + "/data";
    status = std::system(("tar -C " + folder + " -cf " + archive + " train validation").c_str());
  }
  ASSERT_EQ(world_.allreduce_max(std::int64_t{status}), 0);
  const json dataset = {{"train", archive + "/train"}, {"validation", archive + "/validation"}};
  for (const json& sections :
       {json::object(), json{{"cache", {{"memory_bytes", 500'000}}}},
        json{{"staging", {{"mode", "shard"}}}}, json{{"staging", {{"mode", "scatter"}}}}}) {
    json config = sections;
    config["dataset"] = dataset;
    EXPECT_EQ(train(config), expected) << sections.dump();
  }
}

/// In place, from copies, and while nodes pass on packs: each rank is a node.
TEST_F(CosmoFlowData, TrainsToTheSameBitsWhileNodesPassOnSamples) {
  const auto train = [&](const std::string& mode, bool overlap) {
    runner::Topology topology = runner::pretend_nodes(world_, world_.size());
    json config = random_config_of(universes_, mode);
    config["staging"]["directory"] =
        universes_.path() + "/node" + std::to_string(topology.node_index);
    config["staging"]["overlap"] = overlap;
    Trial trial(world_, std::move(topology), config);
    runner::Workload& workload = trial.workload();
    EXPECT_EQ(trial.staging().is_null(), overlap);
    workload.train(1);
    double error = workload.evaluate(nullptr);
    if (overlap) {
      json facts;
      while (facts.is_null()) {
        EXPECT_EQ(workload.evaluate(nullptr), error);  // passes on packs
        facts = workload.finish_staging(runner::StagingEnd::kWhenCopied);
      }
      EXPECT_EQ(facts["train"]["source_reads"], kTrainSamples);
      EXPECT_EQ(facts["train"]["left_bytes"], 0);
    }
    workload.train(2 * kStepsPerEpoch);
    error = workload.evaluate(nullptr);
    EXPECT_EQ(trial.count(Counter::kSamplesFromCopy) > 0, mode != "stream");
    const std::pair found(workload.replica_hash(), error);
    workload.clean_up();
    return found;
  };
  const auto expected = train("stream", false);
  EXPECT_EQ(train("scatter", false), expected);
  EXPECT_EQ(train("scatter", true), expected);
}

TEST_F(CosmoFlowData, LetsCopyingAdvanceWithinAStep) {
  json config = config_of(universes_, "scatter");
  config["staging"]["overlap"] = true;
  Trial trial(world_, config);
  runner::Workload& workload = trial.workload();
  const auto scopes_of_step = [&] {
    const std::int64_t before = trial.scopes();
    workload.train(1);
    return trial.scopes() - before;
  };
  workload.train(1);  // the first one opens the batches, too
  const std::int64_t while_copying = scopes_of_step();
  (void)workload.finish_staging(runner::StagingEnd::kNow);
  EXPECT_GT(while_copying, scopes_of_step() + 1) << "more than that of loading a batch";
  workload.clean_up();
}

TEST_F(CosmoFlowData, CachesNoPartsOfSamples) {
  if (splits_of(world_.size()).empty()) return;
  json config = with_split(config_of(universes_, "stream"), splits_of(world_.size()).front());
  config["cache"]["memory_bytes"] = 1 << 20;
  EXPECT_THAT(base::thrown_message<base::Error>([&] { Trial trial(world_, config); }),
              HasSubstr("/cache: caches hold whole samples"));
}

/// From a file with contiguous counts, a rank reads little more than its part.
TEST_F(CosmoFlowData, ReadsItsPartOfSharedSamples) {
  if (world_.size() != 2) return;
  const SharedUniverses in_place(world_, dataset::UniverseFormat::kHdf5);
  std::vector<std::int64_t> bytes;
  for (const Split& split : {Split{1, 1}, Split{2, 1}}) {
    json config = with_split(config_of(in_place, "stream"), split);
    config["epochs"] = 1;
    Trial trial(world_, config);
    trial.workload().train(kStepsPerEpoch);
    bytes.push_back(sum_over_ranks(trial.count(Counter::kBytesRead)));
  }
  // Both ranks read the head of each file.
  EXPECT_LE(bytes[1], bytes[0] + kStepsPerEpoch * kBatch * 16'384);
  EXPECT_LT(bytes[1], 3 * bytes[0] / 2);
}

TEST_F(CosmoFlowData, TouchesNoFileBeforeStagingWhenCountsAreGiven) {
  json config = config_of(SharedUniverses(world_), "stream");  // already deleted
  config["dataset"]["train_samples"] = kTrainSamples;
  config["dataset"]["validation_samples"] = kValidationSamples;
  const base::ObjectReader reader(config, "test.json");
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  const runner::Topology topology = runner::discover_topology(world_);
  const auto workload = cosmoflow::make_workload(runner::parse_run_config(reader, "test.json"),
                                                 {world_, topology, telemetry, 1});
  workload->open_data();
  workload->initialize();
  EXPECT_EQ(workload->info().train_samples, kTrainSamples);
  EXPECT_EQ(workload->info().steps_per_epoch, kStepsPerEpoch);
  EXPECT_THROW(workload->stage(), base::Error);
}

}  // namespace
