// Runs in progress as metrics, for Prometheus' textfile collector and for OpenMetrics.
#pragma once

#include <string>
#include <vector>

#include "analysis/live_run.h"

namespace analysis::report {

/// One family of gauges per figure, with the labels `log`, `workload` and `host`. Valid both as
/// Prometheus' text format and, with its final "# EOF", as OpenMetrics text. Figures that a run
/// lacks are left out.
std::string status_openmetrics(const std::vector<LiveRun>& runs);

}  // namespace analysis::report
