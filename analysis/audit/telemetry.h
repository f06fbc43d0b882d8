// Audit of a run's telemetry.
#pragma once

#include <vector>

#include "analysis/breakdown.h"
#include "analysis/facts.h"

namespace analysis {

/// Findings about telemetry that does not cover the log's run, and measuring that costs too much.
std::vector<Finding> audit(const RunTelemetry& telemetry, const RunFacts& facts);

}  // namespace analysis
