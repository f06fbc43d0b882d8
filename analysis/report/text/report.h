// The report as text for a terminal, a mail or a page of Markdown.
// Hides the order of its parts.
#pragma once

#include "analysis/findings/report.h"
#include "analysis/report/text/page.h"

namespace analysis::report {

/// One log in full, several as tables; no control codes. Ends with footnotes.
void write_text(TextPage& page, const Report& report);

/// Systems of the same benchmark side by side, as the joint analysis of MLPerf HPC v0.7 has them.
void write_joint_text(TextPage& page, const Report& report);

}  // namespace analysis::report
