// What DeepCAM adds to the log, and what the closed division wants of its configuration.
// Hides the keys.
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

/// The configuration's keys behind those of the log, by the log's key.
std::map<std::string, std::string> log_settings();

/// What the closed division forbids and no key of the log tells: "/model/height: must be 768, got
/// 96" and so on.
std::vector<std::string> closed_rule_breaks(const Config& config);

}  // namespace deepcam
