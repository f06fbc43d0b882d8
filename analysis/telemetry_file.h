// Reads the telemetry that a run writes next to its log.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "analysis/breakdown.h"
#include "analysis/log_parser.h"

namespace analysis {

/// Reads result_<n>.telemetry.json next to result_<n>.txt. Absent if there is none; absent, with a
/// finding, if it is damaged.
std::optional<RunTelemetry> read_telemetry_of(const std::filesystem::path& log,
                                              std::vector<Finding>& findings);

}  // namespace analysis
