// The telemetry that a run leaves beside its log.
// Hides the file's name and layout.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "analysis/breakdown.h"
#include "analysis/log_parser.h"

namespace analysis {

/// Reads result_<n>.telemetry.json beside result_<n>.txt. Nothing when there is none; nothing and
/// a finding when it is damaged.
std::optional<RunTelemetry> read_telemetry_beside(const std::filesystem::path& log,
                                                  std::vector<Finding>& findings);

/// Findings that only both together show: an account that does not cover the log's run, measuring
/// that costs too much.
std::vector<Finding> audit(const RunTelemetry& telemetry, const RunFacts& facts);

}  // namespace analysis
