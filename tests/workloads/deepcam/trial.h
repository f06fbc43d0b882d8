// A DeepCAM workload on generated scenes, ready to train, for tests on any number of ranks.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "shared_directory.h"
#include "workloads/deepcam/config.h"
#include "workloads/deepcam/generate.h"
#include "workloads/deepcam/workload.h"
#include "workloads/workload_trial.h"

namespace deepcam {

inline constexpr std::int64_t kHeight = 32, kWidth = 48, kPoints = kHeight * kWidth;
inline constexpr std::int64_t kTrainSamples = 24, kValidationSamples = 7;
inline constexpr std::int64_t kBatch = 8, kStepsPerEpoch = 3;

/// A folder of generated scenes that all ranks see.
class SharedScenes {
 public:
  explicit SharedScenes(const runner::Communicator& world) : folder_(world) {
    if (world.rank() == 0) {
      GenerateOptions options;
      options.output = path() + "/data";
      options.train_samples = kTrainSamples;
      options.validation_samples = kValidationSamples;
      options.height = kHeight;
      options.width = kWidth;
      options.threads = 1;
      generate_climate(options);
    }
    world.barrier();
  }
  const std::string& path() const { return folder_.path(); }

 private:
  const runner::SharedDirectory folder_;
};

/// All samples of a batch share their statistics, so that results do not depend on the number of
/// ranks.
inline nlohmann::json config_of(const SharedScenes& scenes, const runner::Communicator& world,
                                const std::string& staging = "stream") {
  return {{"workload", "deepcam"},
          {"seed", 11},
          {"epochs", 3},
          {"dataset",
           {{"train", scenes.path() + "/data/train"},
            {"validation", scenes.path() + "/data/validation"},
            {"decode_threads", 1}}},
          {"staging", {{"mode", staging}, {"directory", scenes.path() + "/staged"}}},
          {"model",
           {{"height", kHeight},
            {"width", kWidth},
            {"middle_blocks", 1},
            {"widths",
             {{"conv1", 16},
              {"conv2", 16},
              {"block1", 16},
              {"block2", 24},
              {"middle", 24},
              {"block20", 32},
              {"conv3", 32},
              {"conv4", 32},
              {"conv5", 32},
              {"aspp", 16},
              {"low_level", 16},
              {"decoder", 16}}}}},
          {"training", {{"global_batch_size", kBatch}, {"bn_group_ranks", world.size()}}},
          {"optimizer", {{"name", "adamw"}, {"weight_decay", 0.01}, {"epsilon", 0.01}}},
          {"schedule", {{"learning_rate", 0.003}, {"warmup_steps", 3}, {"milestones", {4}}}}};
}

/// Accepts every sample once, in any order.
class MaskSink final : public runner::OutputSink {
 public:
  void write(std::int64_t, std::int64_t, std::span<const float>,
             std::span<const std::int32_t>) override {
    ADD_FAILURE() << "scenes have a label for each point";
  }
  void write_targets(std::int64_t first, std::int64_t width, std::span<const float> their_outputs,
                     std::span<const float> their_labels) override {
    ASSERT_EQ(width, kClasses * kPoints);
    ASSERT_EQ(their_outputs.size(), their_labels.size() * kClasses);
    outputs.resize(static_cast<std::size_t>(kValidationSamples * width));
    labels.resize(static_cast<std::size_t>(kValidationSamples * kPoints));
    std::copy(their_outputs.begin(), their_outputs.end(), outputs.begin() + first * width);
    std::copy(their_labels.begin(), their_labels.end(), labels.begin() + first * kPoints);
    const auto count = static_cast<std::int64_t>(their_labels.size()) / kPoints;
    for (std::int64_t i = 0; i < count; ++i) {
      EXPECT_TRUE(known_.insert(first + i).second) << "sample " << first + i << " again";
    }
  }
  std::size_t known() const { return known_.size(); }
  /// Mean IoU over samples [first, end) together.
  double mean_iou(std::int64_t first, std::int64_t end) const {
    double sum = 0.0;
    for (std::int64_t which = 0; which < kClasses; ++which) {
      double both = 0.0, either = 0.0;
      for (std::int64_t place = first * kPoints; place < end * kPoints; ++place) {
        const bool is_found = found(place) == which;
        const bool is_there = labels[static_cast<std::size_t>(place)] == static_cast<float>(which);
        both += is_found && is_there ? 1.0 : 0.0;
        either += is_found || is_there ? 1.0 : 0.0;
      }
      sum += either == 0.0 ? 1.0 : both / either;
    }
    return sum / kClasses;
  }
  std::vector<float> outputs, labels;

 private:
  /// The predicted class of a pixel, counted over all samples.
  std::int64_t found(std::int64_t place) const {
    const std::int64_t sample = place / kPoints, point = place % kPoints;
    const auto logit = [&](std::int64_t k) {
      return outputs[static_cast<std::size_t>((sample * kClasses + k) * kPoints + point)];
    };
    std::int64_t best = 0;
    for (std::int64_t k = 1; k < kClasses; ++k) best = logit(k) > logit(best) ? k : best;
    return best;
  }
  std::set<std::int64_t> known_;
};

class Trial : public workload_trial::Trial {
 public:
  Trial(const runner::Communicator& world, const nlohmann::json& config)
      : workload_trial::Trial(world, config, check_config, make_workload) {}
};

}  // namespace deepcam
