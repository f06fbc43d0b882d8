// Findings of logs and sets as text.
#pragma once

#include "analysis/findings/report.h"
#include "analysis/report/text/page.h"

namespace analysis::report {

/// The findings on all logs and sets: errors first, and the first few of each rule.
void write_findings(TextPage& page, const Report& report);

}  // namespace analysis::report
