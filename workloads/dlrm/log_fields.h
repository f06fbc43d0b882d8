// What MLPerf's rules for DLRM want in a log beyond what every run has.
// Hides which key carries what.
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

/// opt_name names what trains layers and tables, both where they differ. The sgd_* keys of the
/// rules are there where both are trained by SGD.
LogFields optimizer_log_fields(const nn::Hyperparameters& layers, nn::SparseRule tables,
                               const nn::ScheduleConfig& schedule);

/// The configuration's keys behind those of the log, by the log's key.
std::map<std::string, std::string> log_settings();

}  // namespace dlrm
