// Tests of the CosmoFlow workload: any number of ranks computes the result of one rank, with whole
// samples or shared ones.
#include "workloads/cosmoflow/workload.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <optional>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "staging/checkpoint_file.h"
#include "staging/dataset/compressed.h"
#include "staging/dataset/universe_folder.h"
#include "staging/h5.h"
#include "workloads/cosmoflow/trial.h"

namespace {

namespace fs = std::filesystem;
using cosmoflow::Arrays;
using cosmoflow::config_of;
using cosmoflow::kBatch;
using cosmoflow::kFirstRate;
using cosmoflow::kRate;
using cosmoflow::kStepsPerEpoch;
using cosmoflow::kTrainSamples;
using cosmoflow::kValidationSamples;
using cosmoflow::random_config_of;
using cosmoflow::SharedUniverses;
using cosmoflow::Split;
using cosmoflow::TargetSink;
using cosmoflow::Trial;
using nlohmann::json;
using telemetry::Counter;
using testing::HasSubstr;

/// Single-precision sums in another order differ by a relative 1e-7, and so do losses. Updates are
/// small compared with the per-sample gradients whose sums they are.
constexpr double kLossTolerance = 1e-6, kUpdateTolerance = 1e-5;
/// After such updates, the maximum of two nearly equal voxels may be the other one.
constexpr double kFreeTolerance = 1e-3;
/// Two epochs and the beginning of a third.
constexpr std::int64_t kSteps = 2 * kStepsPerEpoch + 1;

/// Splits for `ranks` ranks, in one group or in several.
std::vector<Split> splits_of(int ranks) {
  if (ranks == 2) return {{2, 1}, {1, 2}};
  if (ranks == 4) return {{2, 2}, {4, 1}, {1, 4}, {2, 1}};
  // Eight parts are too thin for the second convolution: they are gathered after the first.
  if (ranks == 8) return {{4, 2}, {2, 4}, {2, 2}, {1, 2}, {8, 1}};
  return {};
}

/// One split into as many parts as there are ranks, along both axes if possible, and one with
/// several groups.
std::vector<Split> two_splits_of(int ranks) {
  if (ranks == 4) return {{2, 2}, {2, 1}};
  if (ranks == 8) return {{4, 2}, {1, 2}};
  return splits_of(ranks);
}

std::string to_text(const Split& split) {
  return std::to_string(split.depth) + " x " + std::to_string(split.height);
}

/// A training on rank 0 only, with its state before each step. Other ranks do nothing.
class OneRank {
 public:
  OneRank(const runner::Communicator& world, const runner::Communicator& alone, std::string path,
          const json& config)
      : path_(std::move(path)) {
    if (world.rank() == 0) train(alone, config);
    world.barrier();
  }
  std::string checkpoint(std::int64_t step) const {
    return path_ + "/" + std::to_string(step) + ".h5";
  }
  std::vector<Arrays> weights;  ///< before each step, and at the end
  std::vector<double> losses;
  std::vector<double> errors;  ///< before and after all steps
  std::int64_t samples = 0;

 private:
  void train(const runner::Communicator& alone, const json& config) {
    fs::create_directories(path_);
    Trial one(alone, config);
    errors.push_back(one.workload().evaluate(nullptr));
    for (std::int64_t step = 0; step < kSteps; ++step) {
      weights.push_back(one.weights());
      staging::write_checkpoint(alone, checkpoint(step), "", one.workload().state());
      losses.push_back(one.workload().train(1).mean_loss);
    }
    weights.push_back(one.weights());
    errors.push_back(one.workload().evaluate(nullptr));
    samples = one.count(Counter::kTrainSamples);
  }
  const std::string path_;
};

class CosmoFlowWorkload : public testing::Test {
 protected:
  std::int64_t sum_over_ranks(std::int64_t value) const {
    world_.allreduce_sum(std::span<std::int64_t>(&value, 1));
    return value;
  }
  void expect_equal_replicas(Trial& trial) const {
    const auto hash = static_cast<std::int64_t>(trial.workload().replica_hash() >> 1U);
    EXPECT_EQ(world_.allreduce_min(hash), world_.allreduce_max(hash));
  }
  OneRank one_rank(const json& config) const {
    return {world_, alone_, universes_.path() + "/one", config};
  }
  /// Runs each step from the state of one rank.
  void expect_same_steps(const json& config, const OneRank& one) const {
    Trial many(world_, config);
    for (std::int64_t step = 0; step < kSteps; ++step) {
      many.workload().restore(staging::CheckpointReader(world_, one.checkpoint(step)), step);
      const runner::TrainResult told = many.workload().train(1);
      EXPECT_EQ(told.learning_rate, step < kStepsPerEpoch ? kFirstRate : kRate);
      EXPECT_EQ(told.samples, kBatch);
      EXPECT_EQ(world_.allreduce_max(told.mean_loss), told.mean_loss);
      const Arrays weights = many.weights();
      expect_equal_replicas(many);
      if (world_.rank() != 0) continue;
      const auto at = static_cast<std::size_t>(step);
      EXPECT_NEAR(told.mean_loss, one.losses[at], kLossTolerance * one.losses[at]) << step;
      EXPECT_LT(cosmoflow::update_error(one.weights[at], weights, one.weights[at + 1]),
                kUpdateTolerance)
          << step;
    }
  }
  /// Trains from the initial state.
  void expect_same_training(const json& config, const OneRank& one) const {
    Trial many(world_, config);
    const Arrays start = many.weights();
    const double error = many.workload().evaluate(nullptr);
    std::vector<double> losses;
    for (std::int64_t step = 0; step < kSteps; ++step) {
      losses.push_back(many.workload().train(1).mean_loss);
    }
    const double last_error = many.workload().evaluate(nullptr);
    const std::int64_t samples = sum_over_ranks(many.count(Counter::kTrainSamples));
    expect_equal_replicas(many);
    many.workload().clean_up();
    EXPECT_TRUE(!fs::exists(universes_.path() + "/staged") ||
                fs::is_empty(universes_.path() + "/staged"));
    if (world_.rank() != 0) return;
    EXPECT_EQ(start, one.weights[0]);
    EXPECT_EQ(samples, one.samples);
    EXPECT_NEAR(error, one.errors[0], kLossTolerance * one.errors[0]);
    EXPECT_NEAR(losses[0], one.losses[0], kLossTolerance * one.losses[0]);
    for (std::size_t i = 1; i < losses.size(); ++i) {
      EXPECT_NEAR(losses[i], one.losses[i], kFreeTolerance * one.losses[i]) << i;
    }
    EXPECT_NEAR(last_error, one.errors[1], kFreeTolerance * one.errors[1]);
  }

  const runner::Communicator world_ = runner::Communicator::world();
  const runner::Communicator alone_ = world_.split(-1, 0);
  const SharedUniverses universes_{world_};
};

TEST_F(CosmoFlowWorkload, KnowsItsSamples) {
  Trial trial(world_, config_of(universes_, "stream"));
  const runner::WorkloadInfo& info = trial.workload().info();
  EXPECT_EQ(info.train_samples, kTrainSamples);
  EXPECT_EQ(info.eval_samples, kValidationSamples);
  EXPECT_EQ(info.steps_per_epoch, kStepsPerEpoch);  // one sample is left over
  EXPECT_EQ(info.global_batch_size, kBatch);
  EXPECT_EQ(trial.workload().train(2).samples, 2 * kBatch);
}

TEST_F(CosmoFlowWorkload, DoesTheMathematicsOfOneRank) {
  const OneRank one = one_rank(config_of(universes_, "stream"));
  expect_same_steps(config_of(universes_, "stream"), one);
  for (const char* staging : {"stream", "shard", "scatter", "full", "auto"}) {
    SCOPED_TRACE(staging);
    expect_same_training(config_of(universes_, staging), one);
  }
  json overlapping = config_of(universes_, "shard");
  overlapping["staging"]["overlap"] = true;
  expect_same_training(overlapping, one);
  json copying = config_of(universes_, "auto");  // from a source that is slow enough
  copying["staging"]["rates"] = {
      {"source", 1}, {"local_write", 1e9}, {"local_read", 1e9}, {"cache_bytes", 0}};
  {
    Trial trial(world_, copying);
    EXPECT_EQ(trial.workload().staging_plan()["choice"]["chosen"], "shard");
  }
  expect_same_training(copying, one);
}

TEST_F(CosmoFlowWorkload, DropsAndTurnsTheSameOnAnyNumberOfRanks) {
  const OneRank one = one_rank(random_config_of(universes_, "stream"));
  expect_same_steps(random_config_of(universes_, "stream"), one);
  expect_same_training(random_config_of(universes_, "shard"), one);
}

TEST_F(CosmoFlowWorkload, SharesSamplesWithoutChangingTheMathematics) {
  if (splits_of(world_.size()).empty()) return;
  const OneRank one = one_rank(config_of(universes_, "stream"));
  for (const Split& split : splits_of(world_.size())) {
    SCOPED_TRACE(to_text(split));
    expect_same_steps(with_split(config_of(universes_, "stream"), split), one);
    expect_same_training(with_split(config_of(universes_, "stream"), split), one);
  }
}

TEST_F(CosmoFlowWorkload, DropsAndTurnsSharedSamplesTheSame) {
  if (splits_of(world_.size()).empty()) return;
  const OneRank one = one_rank(random_config_of(universes_, "stream"));
  for (const Split& split : two_splits_of(world_.size())) {
    SCOPED_TRACE(to_text(split));
    expect_same_steps(with_split(random_config_of(universes_, "stream"), split), one);
    expect_same_training(with_split(random_config_of(universes_, "shard"), split), one);
  }
}

/// Parts are gathered after the first convolution, the second, or the last.
TEST_F(CosmoFlowWorkload, SharesSamplesOfDeeperNetworks) {
  if (splits_of(world_.size()).empty()) return;
  json config = config_of(universes_, "stream");
  config["model"]["channels"] = {16, 16, 32};
  const OneRank one = one_rank(config);
  for (const Split& split : two_splits_of(world_.size())) {
    SCOPED_TRACE(to_text(split));
    expect_same_steps(with_split(config, split), one);
  }
}

TEST_F(CosmoFlowWorkload, AccumulatesGradientsOfSeveralPasses) {
  json config = random_config_of(universes_, "stream");
  config["training"]["global_batch_size"] = 16;
  json in_passes = config;
  in_passes["training"]["gradient_accumulation_steps"] = 2;
  Trial passes(world_, in_passes), whole(world_, config);
  const Arrays start = whole.weights();
  const double loss = whole.workload().train(1).mean_loss;
  EXPECT_NEAR(passes.workload().train(1).mean_loss, loss, kLossTolerance * loss);
  EXPECT_LT(cosmoflow::update_error(start, passes.weights(), whole.weights()), kUpdateTolerance);
}

TEST_F(CosmoFlowWorkload, ChoosesASplitThatTrainsTheSame) {
  json config = config_of(universes_, "stream");
  config["training"]["global_batch_size"] = 2;
  json chosen = config;
  chosen["training"]["sample_split"] = {{"auto", true}};
  if (world_.size() == 3) return;  // three ranks cannot share two samples
  Trial many(world_, chosen), one(alone_, config);
  const json plan = many.workload().placement_plan();
  if (world_.size() <= 2) {
    EXPECT_TRUE(plan.is_null());
  } else {
    EXPECT_EQ(plan["sample_split"]["ranks_per_sample"], world_.size() / 2);
  }
  const double loss = one.workload().train(4).mean_loss;
  EXPECT_NEAR(many.workload().train(4).mean_loss, loss, kFreeTolerance * loss);
  expect_equal_replicas(many);
}

/// 11 samples divide evenly neither among the ranks nor into batches.
TEST_F(CosmoFlowWorkload, EvaluatesEverySampleOnceAndTellsOutputsInTheOrderOfTheFiles) {
  const auto files = dataset::open_universes(universes_.path() + "/data/validation");
  std::vector<Split> splits = splits_of(world_.size());
  splits.push_back({});
  Trial one(alone_, config_of(universes_, "stream"));
  one.workload().train(1);
  TargetSink sink_of_one;
  const double error = one.workload().evaluate(&sink_of_one);
  for (const Split& split : splits) {
    SCOPED_TRACE(to_text(split));
    Trial trial(world_, with_split(config_of(universes_, "stream"), split));
    trial.workload().train(1);
    TargetSink sink;
    EXPECT_NEAR(trial.workload().evaluate(world_.rank() == 0 ? &sink : nullptr), error,
                kLossTolerance * error);
    EXPECT_EQ(sum_over_ranks(trial.count(Counter::kEvalSamples)), kValidationSamples);
    if (world_.rank() != 0) continue;
    ASSERT_EQ(sink.known(), static_cast<std::size_t>(kValidationSamples * cosmoflow::kTargets));
    double distance = 0.0;
    for (std::size_t i = 0; i < sink.known(); ++i) {
      EXPECT_NEAR(sink.outputs[i], sink_of_one.outputs[i], 1e-5F) << i;  // after an update
      distance += std::abs(static_cast<double>(sink.outputs[i] - sink.targets[i]));
    }
    EXPECT_NEAR(distance / static_cast<double>(sink.known()), error, kLossTolerance * error);
    for (std::int64_t sample = 0; sample < kValidationSamples; ++sample) {
      dataset::Universe universe;
      read_universe(*files, sample, {{16, 16, 16}, 4}, nullptr, universe);
      const auto first = sink.targets.begin() + sample * cosmoflow::kTargets;
      EXPECT_TRUE(std::equal(universe.targets.begin(), universe.targets.end(), first)) << sample;
    }
  }
}

TEST_F(CosmoFlowWorkload, GivesTheSameBitsAgain) {
  std::vector<Split> splits = splits_of(world_.size());
  splits.push_back({});
  for (const Split& split : splits) {
    SCOPED_TRACE(to_text(split));
    std::optional<Arrays> weights;
    for (int i = 0; i < 2; ++i) {
      Trial trial(world_, with_split(random_config_of(universes_, "stream"), split));
      trial.workload().train(kStepsPerEpoch + 1);
      Arrays now = trial.weights();
      if (weights) {
        EXPECT_EQ(now, *weights);
      }
      weights = std::move(now);
    }
  }
}

/// Cached samples are not read again. The second epoch reads the one of 40 samples that the first
/// one left out.
TEST_F(CosmoFlowWorkload, ReadsWhatItKeepsOnce) {
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
}

/// Caches in memory and on disk, with and without peers, that know the future and that do not.
TEST_F(CosmoFlowWorkload, TrainsToTheSameBitsThroughCaches) {
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
TEST_F(CosmoFlowWorkload, TrainsToTheSameBitsFromCompressedSamples) {
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

TEST_F(CosmoFlowWorkload, CachesNoPartsOfSamples) {
  if (splits_of(world_.size()).empty()) return;
  json config = with_split(config_of(universes_, "stream"), splits_of(world_.size()).front());
  config["cache"]["memory_bytes"] = 1 << 20;
  EXPECT_THAT(base::thrown_message<base::Error>([&] { Trial trial(world_, config); }),
              HasSubstr("/cache: caches hold whole samples"));
}

/// From a file with contiguous counts, a rank reads little more than its part.
TEST_F(CosmoFlowWorkload, ReadsItsPartOfSharedSamples) {
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

TEST_F(CosmoFlowWorkload, LoadsWhatItSaved) {
  const std::string path = universes_.path() + "/weights.h5";
  Trial trained(world_, config_of(universes_, "stream"));
  trained.workload().train(2);
  {
    std::optional<staging::H5StateWriter> writer;
    if (world_.rank() == 0) writer.emplace(path);
    trained.workload().save_weights(writer ? &*writer : nullptr);
    if (writer) writer->finish();
  }
  world_.barrier();
  json config = config_of(universes_, "stream");
  config["seed"] = 12;
  std::vector<Split> splits = splits_of(world_.size());
  splits.push_back({});
  for (const Split& split : splits) {
    SCOPED_TRACE(to_text(split));
    Trial loaded(world_, with_split(config, split));
    world_.barrier();  // the ranks of a node share one copy of the weights
    loaded.workload().load_weights(staging::H5StateReader(path));
    EXPECT_EQ(loaded.weights(), trained.weights());
    const double error = trained.workload().evaluate(nullptr);
    EXPECT_NEAR(loaded.workload().evaluate(nullptr), error, kLossTolerance * error);
  }
  config["model"]["dense"] = {24, 9};
  Trial other(world_, config);
  EXPECT_THAT(base::thrown_message<base::DataError>(
                  [&] { other.workload().load_weights(staging::H5StateReader(path)); }),
              HasSubstr("dense_1/kernel:0: expected floating point of shape [24, 9], found "
                        "float32 of shape [24, 8]"));
}

TEST_F(CosmoFlowWorkload, HasNoQualityWithWeightsThatAreNotNumbers) {
  Trial trial(world_, config_of(universes_, "stream"));
  workload_trial::MemoryState state;
  trial.workload().save_weights(&state);
  workload_trial::expect_no_quality_with_nan(world_, trial.workload(), state);
}

TEST_F(CosmoFlowWorkload, TouchesNoFileBeforeStagingWhenCountsAreGiven) {
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
