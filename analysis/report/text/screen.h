// One run on one screen.
#pragma once

#include "analysis/findings/report.h"
#include "analysis/report/text/page.h"

namespace analysis::report {

/// Outcome, times, convergence as a plot, where the time went, and who was waited for: at most 24
/// lines on a terminal of 100 columns. write_run() has all of it.
void write_screen(TextPage& page, const RunReport& run);

}  // namespace analysis::report
