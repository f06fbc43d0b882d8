// Runs of the program on a few small universes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/generated_run.h"
#include "staging/dataset/universe.h"

namespace outside {

class UniverseRun : public GeneratedRun {
 protected:
  static constexpr int kSize = 8, kTrainSamples = 12, kValidationSamples = 5;

  UniverseRun()
      : GeneratedRun("cosmoflow", "--train-samples " + std::to_string(kTrainSamples) +
                                      " --validation-samples " +
                                      std::to_string(kValidationSamples) + " --seed 3 --size " +
                                      std::to_string(kSize)) {}

  /// Replaces a file by `bytes`, which may be in another format.
  fs::path replace(const std::string& part, std::size_t index, const std::vector<std::byte>& bytes,
                   dataset::UniverseFormat format) const {
    fs::path path = file(part, index);
    fs::remove(path);
    path.replace_extension(dataset::universe_extension(format));
    write(path, bytes);
    return path;
  }
  static dataset::Universe universe(std::int64_t size = kSize) {
    dataset::Universe made;
    made.extents = {size, size, size};
    made.channels = 4;
    made.counts.resize(static_cast<std::size_t>(size * size * size * 4), 1);
    return made;
  }

  /// Two epochs of three steps.
  json config() const override {
    json config = usual_config();
    config["target"] = {{"quality", 0.001}};
    config["model"] = {{"size", kSize}, {"channels", {16, 16}}, {"dense", {8}}};
    config["training"] = {{"global_batch_size", 4}};
    config["schedule"] = {{"learning_rate", 0.001}, {"scaling", "none"}};
    return config;
  }
};

}  // namespace outside
