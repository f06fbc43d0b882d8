// Charts of systems side by side.
#pragma once

#include "analysis/findings/report.h"
#include "analysis/report/html/chart_sections.h"

namespace analysis::report {

/// Systems side by side: time to train against scale with lines of equal budget, epochs against
/// batch size, and how runs spread.
void add_systems(const Report& report, ChartSections& sections);

}  // namespace analysis::report
