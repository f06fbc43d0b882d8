// A ResNet-50 workload on generated images, ready to train, for tests on any number of ranks.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "workloads/images/shared_images.h"
#include "workloads/resnet50/config.h"
#include "workloads/resnet50/workload.h"
#include "workloads/workload_trial.h"

namespace resnet50 {

using images::SharedImages;

inline nlohmann::json config_of(const SharedImages& images, const std::string& staging) {
  nlohmann::json config = {
      {"workload", "resnet50"},
      {"seed", 11},
      {"epochs", 2},
      {"model", {{"image_size", 32}, {"classes", 3}, {"width", 16}}},
      {"training", {{"global_batch_size", 48}, {"bn_group_samples", 6}, {"label_smoothing", 0.1}}},
      {"optimizer", {{"name", "sgd"}, {"momentum", 0.9}}},
      {"schedule", {{"learning_rate", 0.05}}}};
  config.update(images.sections(staging));
  return config;
}

class Trial : public workload_trial::Trial {
 public:
  Trial(const runner::Communicator& world, const nlohmann::json& config)
      : workload_trial::Trial(world, config, check_config, make_workload) {}
  Trial(const runner::Communicator& world, runner::Topology topology, const nlohmann::json& config)
      : workload_trial::Trial(world, std::move(topology), config, check_config, make_workload) {}
};

}  // namespace resnet50
