// A CosmoFlow workload on generated universes, ready to train, for tests on any number of ranks.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shared_directory.h"
#include "workloads/cosmoflow/config.h"
#include "workloads/cosmoflow/generate.h"
#include "workloads/cosmoflow/workload.h"
#include "workloads/workload_trial.h"

namespace cosmoflow {

inline constexpr std::int64_t kSize = 16, kTrainSamples = 40, kValidationSamples = 11;
/// The batch is not divisible by any tested number of ranks but 1.
inline constexpr std::int64_t kBatch = 13, kStepsPerEpoch = 3;
/// Rates of the first epoch and of the others. Losses fall, so that rounding differences do not
/// grow.
inline constexpr double kFirstRate = 0.002, kRate = 0.005;

/// A folder of generated universes that all ranks see.
class SharedUniverses {
 public:
  explicit SharedUniverses(const runner::Communicator& world,
                           dataset::UniverseFormat format = dataset::UniverseFormat::kTfrecordGzip)
      : folder_(world) {
    if (world.rank() == 0) {
      GenerateOptions options;
      options.output = path() + "/data";
      options.train_samples = kTrainSamples;
      options.validation_samples = kValidationSamples;
      options.size = kSize;
      options.format = format;
      options.threads = 1;
      generate_universes(options);
    }
    world.barrier();
  }
  const std::string& path() const { return folder_.path(); }

 private:
  const runner::SharedDirectory folder_;
};

/// Without dropout. The second of the two convolutions may have parts of 4 voxels.
inline nlohmann::json config_of(const SharedUniverses& universes, const std::string& staging) {
  return {{"workload", "cosmoflow"},
          {"seed", 11},
          {"epochs", 3},
          {"dataset",
           {{"train", universes.path() + "/data/train"},
            {"validation", universes.path() + "/data/validation"},
            {"decode_threads", 1}}},
          {"staging", {{"mode", staging}, {"directory", universes.path() + "/staged"}}},
          {"model", {{"size", kSize}, {"channels", {16, 32}}, {"dense", {24, 8}}, {"dropout", 0}}},
          {"training", {{"global_batch_size", kBatch}}},
          {"schedule",
           {{"learning_rate", kFirstRate}, {"peak_learning_rate", kRate}, {"warmup_epochs", 1}}}};
}

/// The same with random augmentation and dropout.
inline nlohmann::json random_config_of(const SharedUniverses& universes,
                                       const std::string& staging) {
  nlohmann::json config = config_of(universes, staging);
  config["model"]["dropout"] = 0.4;
  config["dataset"]["flips"] = true;
  config["dataset"]["transposes"] = true;
  return config;
}

inline nlohmann::json with_split(nlohmann::json config, const Split& split) {
  config["training"]["sample_split"] = {{"depth", split.depth}, {"height", split.height}};
  return config;
}

using workload_trial::Arrays;
using workload_trial::update_error;

/// Accepts every sample once, in any order.
class TargetSink final : public runner::OutputSink {
 public:
  void write(std::int64_t, std::int64_t, std::span<const float>,
             std::span<const std::int32_t>) override {
    ADD_FAILURE() << "universes have no labels";
  }
  void write_targets(std::int64_t first, std::int64_t width, std::span<const float> their_outputs,
                     std::span<const float> their_targets) override {
    ASSERT_EQ(width, kTargets);
    ASSERT_EQ(their_outputs.size(), their_targets.size());
    ASSERT_EQ(their_outputs.size() % kTargets, 0U);
    const auto at = static_cast<std::size_t>(first * kTargets);
    outputs.resize(std::max(outputs.size(), at + their_outputs.size()));
    targets.resize(outputs.size());
    for (std::size_t i = 0; i < their_outputs.size(); ++i) {
      EXPECT_TRUE(known_.insert(at + i).second) << "sample " << (at + i) / kTargets << " again";
      outputs[at + i] = their_outputs[i];
      targets[at + i] = their_targets[i];
    }
  }
  std::size_t known() const { return known_.size(); }
  std::vector<float> outputs, targets;

 private:
  std::set<std::size_t> known_;
};

/// A workload on `world`, ready to train.
class Trial : public workload_trial::Trial {
 public:
  Trial(const runner::Communicator& world, const nlohmann::json& config)
      : workload_trial::Trial(world, config, check_config, make_workload) {}
  Trial(const runner::Communicator& world, runner::Topology topology, const nlohmann::json& config)
      : workload_trial::Trial(world, std::move(topology), config, check_config, make_workload) {}
};

/// Splits for `ranks` ranks, in one group or in several.
inline std::vector<Split> splits_of(int ranks) {
  if (ranks == 2) return {{2, 1}, {1, 2}};
  if (ranks == 4) return {{2, 2}, {4, 1}, {1, 4}, {2, 1}};
  // Eight parts are too thin for the second convolution: they are gathered after the first.
  if (ranks == 8) return {{4, 2}, {2, 4}, {2, 2}, {1, 2}, {8, 1}};
  return {};
}

}  // namespace cosmoflow
