// An AlexNet workload on generated images, ready to train, for tests on any number of ranks.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "workloads/alexnet/config.h"
#include "workloads/alexnet/workload.h"
#include "workloads/images/shared_images.h"
#include "workloads/workload_trial.h"

namespace alexnet {

using images::SharedImages;

/// Two steps an epoch, with dropout; a batch norm's groups span ranks.
inline nlohmann::json config_of(const SharedImages& images, const std::string& staging,
                                const std::string& normalization = "batch") {
  nlohmann::json config = {{"workload", "alexnet"},
                           {"seed", 11},
                           {"epochs", 2},
                           {"model",
                            {{"image_size", 32},
                             {"classes", 3},
                             {"width", 12},
                             {"hidden", 24},
                             {"stem", "small"},
                             {"normalization", normalization},
                             {"initialization", "he"}}},
                           {"training", {{"global_batch_size", 48}}},
                           {"optimizer", {{"name", "lars"}, {"scope", "all"}}},
                           {"schedule", {{"learning_rate", 2.0}}}};
  if (normalization != "response") config["training"]["bn_group_samples"] = 16;
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

}  // namespace alexnet
