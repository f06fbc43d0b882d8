// The report as plain text for a terminal or a mail.
// Hides layout.
#pragma once

#include <cstddef>
#include <iosfwd>

#include "analysis/report/report.h"

namespace analysis::report {

/// One log in full, several as tables; no line wider than `width`, no control codes.
void write_text(std::ostream& out, const Report& report, std::size_t width);

}  // namespace analysis::report
