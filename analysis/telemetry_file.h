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

}  // namespace analysis
