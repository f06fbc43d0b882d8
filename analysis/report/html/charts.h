// The charts of the HTML report.
// Hides which runs share a chart.
#pragma once

#include "analysis/findings/report.h"
#include "analysis/report/html/chart_sections.h"

namespace analysis::report {

/// Quality against epochs or time: a chart per benchmark and metric.
void add_convergence(const Report& report, ChartSections& sections);
/// Stacked bars of the parts of runs; of folders where the runs are many.
void add_breakdowns(const Report& report, ChartSections& sections);
}  // namespace analysis::report
