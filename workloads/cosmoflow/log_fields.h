// What a CosmoFlow run adds to its log.
// Hides the rules' spelling.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "workloads/cosmoflow/config.h"

namespace cosmoflow {

using LogFields = std::vector<std::pair<std::string, nlohmann::ordered_json>>;

/// opt_base_learning_rate is the peak, warmup_factor the peak over the rate of the first epoch, as
/// the reference logs them.
LogFields log_fields(const Config& config, const nn::Hyperparameters& optimizer);

/// The configuration's keys behind those of the log, by the log's key.
std::map<std::string, std::string> log_settings();

/// What the closed division forbids and no key of the log tells.
/// Source: MLPerf HPC training rules, section 9: SGD with momentum 0.9, the reference's model.
std::vector<std::string> closed_rule_breaks(const Config& config,
                                            const nn::Hyperparameters& optimizer);

}  // namespace cosmoflow
