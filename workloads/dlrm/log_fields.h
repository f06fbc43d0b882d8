// Log fields that MLPerf's rules require for DLRM in addition to those of every run.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/schedule.h"
#include "workloads/parallel/hybrid/hybrid_parallel.h"

namespace dlrm {

using LogFields = std::vector<std::pair<std::string, nlohmann::ordered_json>>;

/// opt_name names the optimizer, or those of layers and of tables if they differ. The rules' sgd_*
/// keys are included if both are SGD; the peak of the tables' learning rate, if it is not that of
/// the layers.
LogFields optimizer_log_fields(const nn::Hyperparameters& layers,
                               const parallel::EmbeddingConfig& tables,
                               const nn::ScheduleConfig& schedule);

/// For each log key, the configuration key that determines it.
std::map<std::string, std::string> log_settings();

}  // namespace dlrm
