// The charts of the HTML report: their data for the script, and the sections that hold them.
// Hides which runs share a chart.
#pragma once

#include <string>

#include "analysis/report/report.h"

namespace analysis::report {

struct HtmlCharts {
  std::string sections;     ///< HTML: canvas, choices and the table beneath each chart
  std::string data_script;  ///< JSON that report.js reads, escaped for a script element
};

/// A convergence chart per benchmark and metric, a breakdown chart per kind of parts.
HtmlCharts html_charts(const Report& report);

}  // namespace analysis::report
