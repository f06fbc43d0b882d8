// The report as text for a terminal, a mail or a page of Markdown.
#pragma once

#include "analysis/findings/report.h"
#include "analysis/report/text/page.h"

namespace analysis::report {

/// How much is shown. kScreen: of a single log what fits a terminal of 24 lines and 100 columns, of
/// several systems a line each.
enum class Detail { kScreen, kFull };

/// Writes one log, or several as a table per folder; then findings and definitions. Without control
/// codes.
void write_text(TextPage& page, const Report& report, Detail detail);

/// Compares the systems of each benchmark in the manner of the joint analysis of MLPerf HPC v0.7.
void write_joint_text(TextPage& page, const Report& report);

}  // namespace analysis::report
