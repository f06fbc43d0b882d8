// Optimizer and schedule as log keys of MLPerf's resnet rules.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/schedule.h"

namespace images {

using LogFields = std::vector<std::pair<std::string, nlohmann::ordered_json>>;

/// opt_name and the lars_* or sgd_* keys of MLPerf Training's resnet rules. The rules have no keys
/// for other optimizers, so those get learning rate and warm-up only. Keys of a polynomial decay
/// appear only with such a decay. model_bn_span is bn_group_samples; absent if that is 0, of a
/// network without batch norms.
LogFields optimizer_log_fields(const nn::Hyperparameters& optimizer,
                               const nn::ScheduleConfig& schedule, std::int64_t steps_per_epoch,
                               std::int64_t bn_group_samples);

/// Maps each log key to the configuration key that sets it.
std::map<std::string, std::string> log_settings();

}  // namespace images
