// What MLPerf's resnet rules want to read of optimizer and schedule.
// Hides which key belongs to which optimizer.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/schedule.h"

namespace resnet50 {

using LogFields = std::vector<std::pair<std::string, nlohmann::ordered_json>>;

/// opt_name and the lars_* or sgd_* keys of MLPerf Training's resnet rules; of other optimizers,
/// for which the rules have no keys, learning rate and warm-up. Keys of a polynomial decay are
/// given only for one. model_bn_span is bn_group_samples.
LogFields optimizer_log_fields(const nn::Hyperparameters& optimizer,
                               const nn::ScheduleConfig& schedule, std::int64_t steps_per_epoch,
                               std::int64_t bn_group_samples);

/// The configuration's keys behind those of the log, by the log's key.
std::map<std::string, std::string> log_settings();

}  // namespace resnet50
