// The log keys of a DeepCAM run, and checks of the closed division's rules.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "workloads/deepcam/config.h"

namespace deepcam {

using LogFields = std::vector<std::pair<std::string, nlohmann::ordered_json>>;

LogFields log_fields(const Config& config, const nn::Hyperparameters& optimizer);

/// Maps each log key to the configuration key that sets it.
std::map<std::string, std::string> log_settings();

/// Violations of the closed division's rules that no log key reveals, such as "/model/height: must
/// be 768, got 96".
std::vector<std::string> closed_rule_breaks(const Config& config);

}  // namespace deepcam
