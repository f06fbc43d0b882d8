// The systems of a round as text.
#pragma once

#include "analysis/findings/report.h"
#include "analysis/report/text/page.h"

namespace analysis::report {

/// A table per benchmark: submitter and system of each set and columns_of_round(), the best score
/// first.
void write_round(TextPage& page, const Report& report);

}  // namespace analysis::report
