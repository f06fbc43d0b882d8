// Who was waited for, in the HTML report.
// Hides the table.
#pragma once

#include <string>

#include "analysis/findings/report.h"

namespace analysis::report {

/// A section over all runs with telemetry of several ranks; "" without such.
std::string waiting_section(const Report& report);

}  // namespace analysis::report
