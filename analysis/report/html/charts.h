// The convergence and breakdown charts of the HTML report.
#pragma once

#include "analysis/findings/report.h"
#include "analysis/report/html/chart_sections.h"

namespace analysis::report {

/// Quality against epochs or time: a chart for the runs that have benchmark, metric, target and
/// unit of position in common.
void add_convergence(const Report& report, ChartSections& sections);
/// Stacked bars: a bar per run or, for many runs, a bar of the means per folder.
void add_breakdowns(const Report& report, ChartSections& sections);
}  // namespace analysis::report
