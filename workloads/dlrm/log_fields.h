// Log fields that MLPerf's rules require for DLRM in addition to those of every run.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "workloads/embedding/options.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/schedule.h"

namespace dlrm {

using LogFields = std::vector<std::pair<std::string, nlohmann::ordered_json>>;

/// opt_name names the optimizer, or those of layers and of tables if they differ. The rules' sgd_*
/// keys are included if both are SGD.
LogFields optimizer_log_fields(const nn::Hyperparameters& layers, nn::SparseRule tables,
                               const nn::ScheduleConfig& schedule);

/// For each log key, the configuration key that determines it.
std::map<std::string, std::string> log_settings();

}  // namespace dlrm
