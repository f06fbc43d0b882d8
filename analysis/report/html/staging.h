// What staging did, in the HTML report.
#pragma once

#include <string>

#include "analysis/findings/report.h"

namespace analysis::report {

/// Tables of the sets that runs staged, and of what staging is of their time; "" if no log tells
/// of sets.
std::string staging_section(const Report& report);

}  // namespace analysis::report
