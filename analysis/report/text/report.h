// The report as text for a terminal, a mail or a page of Markdown.
#pragma once

#include "analysis/findings/report.h"
#include "analysis/report/text/page.h"

namespace analysis::report {

/// Writes one log in full, or several as a table per folder; then findings and footnotes. Without
/// control codes.
void write_text(TextPage& page, const Report& report);

/// Compares the systems of each benchmark in the manner of the joint analysis of MLPerf HPC v0.7.
void write_joint_text(TextPage& page, const Report& report);

}  // namespace analysis::report
