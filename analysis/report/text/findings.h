// Findings of logs and sets as text.
#pragma once

#include "analysis/findings/report.h"
#include "analysis/report/text/page.h"

namespace analysis::report {

/// What was found in all logs and sets: errors first, and of each rule the first few.
void write_findings(TextPage& page, const Report& report);

}  // namespace analysis::report
