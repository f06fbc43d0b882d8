// Charts of this program's own runs: ranks, steps, timelines.
#pragma once

#include "analysis/findings/report.h"
#include "analysis/report/html/chart_sections.h"

namespace analysis::report {

/// This program's own runs: each rank's parts, the histogram of steps, and what ranks did when.
void add_ranks(const Report& report, ChartSections& sections);

}  // namespace analysis::report
