// Tests of the CosmoFlow workload: any number of ranks computes the result of one rank, with whole
// samples or shared ones.
#include "workloads/cosmoflow/workload.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <optional>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "staging/checkpoint_file.h"
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
using cosmoflow::splits_of;
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

}  // namespace
