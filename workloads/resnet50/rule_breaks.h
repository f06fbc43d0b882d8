// Violations of the closed division's rules for ResNet-50 that no log key reveals.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/schedule.h"
#include "workloads/resnet50/config.h"

namespace resnet50 {

/// The training settings that are not ResNet-50's own keys.
struct Training {
  nn::Hyperparameters optimizer;
  std::optional<nn::LarsConfig> lars;  ///< set if the optimizer is LARS
  nn::ScheduleConfig schedule;
};

/// Each message names the key, the value that the closed division requires, and the value found.
/// Source: MLPerf Training rules, sections 6 and 9: a closed submission uses the reference's model,
/// preprocessing, loss and optimizer; the reference decays the rate by a polynomial, and smooths
/// labels by 0.1 or not at all.
std::vector<std::string> closed_rule_breaks(const Config& config, const Training& training);

}  // namespace resnet50
