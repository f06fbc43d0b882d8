// What a closed submission of ResNet-50 must not choose and no key of the log tells.
// Hides what the rules say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/schedule.h"
#include "workloads/resnet50/config.h"

namespace resnet50 {

/// How a ResNet-50 is trained, beyond its own keys.
struct Training {
  nn::Hyperparameters optimizer;
  std::optional<nn::LarsConfig> lars;  ///< set where the optimizer is LARS
  nn::ScheduleConfig schedule;
};

/// Each names its key, what the closed division wants, and what stands there.
/// Source: MLPerf Training rules, sections 6 and 9: model, preprocessing, loss and optimizer of a
/// closed submission are the reference's, which decays the rate by a polynomial and smooths labels
/// by 0.1 or not at all.
std::vector<std::string> closed_rule_breaks(const Config& config, const Training& training);

}  // namespace resnet50
