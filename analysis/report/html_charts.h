// The charts of the HTML report.
// Hides which runs share a chart.
#pragma once

#include "analysis/report/chart_sections.h"
#include "analysis/report/report.h"

namespace analysis::report {

/// Quality against epochs or time: a chart per benchmark and metric.
void add_convergence(const Report& report, ChartSections& sections);
/// Stacked bars of the parts of runs; of folders where the runs are many.
void add_breakdowns(const Report& report, ChartSections& sections);
/// Systems side by side: time to train against scale with lines of equal budget, epochs against
/// batch size, and how runs spread.
void add_systems(const Report& report, ChartSections& sections);
/// This program's own runs: each rank's parts, the histogram of steps, and what ranks did when.
void add_ranks(const Report& report, ChartSections& sections);

}  // namespace analysis::report
