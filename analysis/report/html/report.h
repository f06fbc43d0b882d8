// The report as one HTML file that opens without a network.
// Hides the page.
#pragma once

#include <string>

#include "analysis/findings/report.h"

namespace analysis::report {

/// A whole document: charts with a table beneath each, figures, findings, definitions. Every text
/// from a log is escaped; the page may load nothing and run only the scripts in it.
std::string report_html(const Report& report);

}  // namespace analysis::report
