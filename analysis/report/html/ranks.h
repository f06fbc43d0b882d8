// Charts of runs with telemetry: ranks, steps, timelines.
#pragma once

#include "analysis/findings/report.h"
#include "analysis/report/html/chart_sections.h"

namespace analysis::report {

/// For each run with telemetry: each rank's parts, the histogram of step times and, if steps were
/// traced, the timeline of the ranks.
void add_ranks(const Report& report, ChartSections& sections);

}  // namespace analysis::report
