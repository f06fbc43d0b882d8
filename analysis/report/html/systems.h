// Charts that compare systems.
#pragma once

#include "analysis/findings/report.h"
#include "analysis/report/html/chart_sections.h"

namespace analysis::report {

/// For each benchmark: time to train against scale with lines of equal budget, epochs against batch
/// size, and the spread of runs.
void add_systems(const Report& report, ChartSections& sections);

}  // namespace analysis::report
