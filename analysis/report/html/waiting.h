// Stragglers and slow exchanges in the HTML report.
#pragma once

#include <string>

#include "analysis/findings/report.h"

namespace analysis::report {

/// A section on all runs with telemetry of several ranks; "" if there are none.
std::string waiting_section(const Report& report);

}  // namespace analysis::report
