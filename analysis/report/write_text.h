// The report as plain text for a terminal or a mail.
// Hides layout.
#pragma once

#include <cstddef>
#include <iosfwd>

#include "analysis/report/report.h"

namespace analysis::report {

/// One log in full, several as tables; no line wider than `width`, no control codes.
void write_text(std::ostream& out, const Report& report, std::size_t width);

/// Systems of the same benchmark side by side, as the joint analysis of MLPerf HPC v0.7 has them.
void write_joint_text(std::ostream& out, const Report& report, std::size_t width);

}  // namespace analysis::report
