// What telemetry shows besides its log.
#pragma once

#include <vector>

#include "analysis/breakdown.h"
#include "analysis/facts.h"

namespace analysis {

/// Findings that only both together show: an account that does not cover the log's run, measuring
/// that costs too much.
std::vector<Finding> audit(const RunTelemetry& telemetry, const RunFacts& facts);

}  // namespace analysis
