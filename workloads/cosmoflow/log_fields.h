// The log keys of a CosmoFlow run, and checks of the closed division's rules.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "workloads/cosmoflow/config.h"

namespace cosmoflow {

using LogFields = std::vector<std::pair<std::string, nlohmann::ordered_json>>;

/// opt_base_learning_rate is the peak and warmup_factor the peak over the rate of the first epoch,
/// as in the reference's logs.
LogFields log_fields(const Config& config, const nn::Hyperparameters& optimizer);

/// Maps each log key to the configuration key that sets it.
std::map<std::string, std::string> log_settings();

/// Violations of the closed division's rules that no log key reveals.
/// Source: MLPerf HPC training rules, section 9: SGD with momentum 0.9, the reference's model.
std::vector<std::string> closed_rule_breaks(const Config& config,
                                            const nn::Hyperparameters& optimizer);

}  // namespace cosmoflow
