// Comparison of the systems of each benchmark as text.
#pragma once

#include "analysis/findings/report.h"
#include "analysis/report/text/page.h"

namespace analysis::report {

/// Compares the systems of each benchmark: times, shares of staging and evaluation, epochs against
/// batch size, variation between runs, scaling.
void write_joint(TextPage& page, const Report& report);

}  // namespace analysis::report
