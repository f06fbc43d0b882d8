// A ResNet-50 workload on generated images, ready to train, for tests on any number of ranks.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "runner/base/error.h"
#include "shared_directory.h"
#include "workloads/images/generate.h"
#include "workloads/resnet50/config.h"
#include "workloads/resnet50/workload.h"
#include "workloads/workload_trial.h"

namespace resnet50 {

/// A folder of generated images that all ranks see.
class SharedImages {
 public:
  explicit SharedImages(const runner::Communicator& world) : folder_(world) {
    if (world.rank() == 0) {
      images::GenerateOptions options;
      options.output = path() + "/data";
      options.classes = 3;
      options.train_per_class = 40;
      options.validation_per_class = 7;
      options.threads = 1;
      images::generate_images(options);
    }
    world.barrier();
  }
  const std::string& path() const { return folder_.path(); }
  std::filesystem::path any_image(const std::string& part) const {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(path() + "/data/" + part)) {
      if (entry.is_regular_file()) return entry.path();
    }
    throw base::DataError("no image below " + path());
  }

 private:
  const runner::SharedDirectory folder_;
};

inline nlohmann::json config_of(const SharedImages& images, const std::string& staging) {
  return {
      {"workload", "resnet50"},
      {"seed", 11},
      {"epochs", 2},
      {"dataset",
       {{"train", images.path() + "/data/train"},
        {"validation", images.path() + "/data/validation"},
        {"preprocess", "cifar"},
        {"decode_threads", 1}}},
      {"staging", {{"mode", staging}, {"directory", images.path() + "/staged"}}},
      {"model", {{"image_size", 32}, {"classes", 3}, {"width", 16}}},
      {"training", {{"global_batch_size", 48}, {"bn_group_samples", 6}, {"label_smoothing", 0.1}}},
      {"optimizer", {{"name", "sgd"}, {"momentum", 0.9}}},
      {"schedule", {{"learning_rate", 0.05}}}};
}

class Trial : public workload_trial::Trial {
 public:
  Trial(const runner::Communicator& world, const nlohmann::json& config)
      : workload_trial::Trial(world, config, check_config, make_workload) {}
  Trial(const runner::Communicator& world, runner::Topology topology, const nlohmann::json& config)
      : workload_trial::Trial(world, std::move(topology), config, check_config, make_workload) {}
};

}  // namespace resnet50
