// What MLPerf's rules for DLRM want in a log beyond what every run has.
// Hides which key carries what.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "workloads/nn/optimizer.h"
#include "workloads/nn/schedule.h"

namespace dlrm {

using LogFields = std::vector<std::pair<std::string, nlohmann::ordered_json>>;

LogFields optimizer_log_fields(const nn::Hyperparameters& optimizer,
                               const nn::ScheduleConfig& schedule);

}  // namespace dlrm
