// The report as one HTML file that opens without a network.
#pragma once

#include <string>

#include "analysis/findings/report.h"

namespace analysis::report {

/// A whole document: charts with a table beneath each, figures, findings, definitions. Every text
/// from a log is escaped. A content security policy forbids the page to load anything and to run
/// scripts other than its own.
std::string report_html(const Report& report);

}  // namespace analysis::report
