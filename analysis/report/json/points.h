// Reference points, and sets drawn from their runs, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "analysis/submission/bootstrap.h"
#include "analysis/submission/rcp.h"

namespace analysis::report {

/// One point: {batch_size, mean, stdev, runs, interval, least_mean, pruned}.
nlohmann::ordered_json point_json(const submission::ConvergencePoint& point);
/// Reference points with their statistics in that era; "bootstrap" holds `drawn`, or null.
std::string points_json_text(const submission::ReferenceSet& set,
                             const submission::RcpEraFacts& era,
                             const std::optional<submission::Bootstrap>& drawn = {});

}  // namespace analysis::report
