// Runs of the program on a few small scenes.
#pragma once

#include <cstdint>
#include <string>

#include "runner/generated_run.h"
#include "staging/dataset/climate.h"

namespace outside {

class SceneRun : public GeneratedRun {
 protected:
  static constexpr int kHeight = 32, kWidth = 48, kTrainSamples = 12, kValidationSamples = 5;

  SceneRun()
      : GeneratedRun("deepcam", "--train-samples " + std::to_string(kTrainSamples) +
                                    " --validation-samples " + std::to_string(kValidationSamples) +
                                    " --seed 3 --height " + std::to_string(kHeight) + " --width " +
                                    std::to_string(kWidth)) {}

  static dataset::ClimateSample scene(std::int64_t height = kHeight) {
    dataset::ClimateSample made = {height, kWidth, dataset::kClimateChannels, {}, {}};
    const auto points = static_cast<std::size_t>(height * kWidth);
    made.values.resize(points * dataset::kClimateChannels, 1.0F);
    made.labels.resize(points);
    return made;
  }

  /// Two epochs of three steps.
  json config() const override {
    json config = usual_config();
    config["target"] = {{"quality", 0.999}};
    config["model"] = {{"height", kHeight}, {"width", kWidth}, {"middle_blocks", 1}};
    for (const char* part : {"conv1", "conv2", "block1", "block2", "middle", "block20", "conv3",
                             "conv4", "conv5", "aspp", "low_level", "decoder"}) {
      config["model"]["widths"][part] = 16;
    }
    config["training"] = {{"global_batch_size", 4}};
    config["schedule"] = {{"learning_rate", 0.001}};
    return config;
  }
};

}  // namespace outside
