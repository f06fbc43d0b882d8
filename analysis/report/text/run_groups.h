// Groups of runs, their windows and the choice, as text.
#pragma once

#include <cstddef>
#include <iosfwd>

#include "analysis/findings/check_report.h"

namespace analysis::report {

/// The groups of runs, their windows and the one to submit. Writes nothing if the report has no
/// groups.
void write_run_groups(std::ostream& out, const CheckReport& report, std::size_t width);

}  // namespace analysis::report
