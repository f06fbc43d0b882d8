// The runs of one folder as text.
#pragma once

#include <string>
#include <vector>

#include "analysis/findings/report.h"
#include "analysis/report/text/page.h"

namespace analysis::report {

/// The runs of one folder as a table, after a summary from `system`, which may be null.
void write_set(TextPage& page, const std::string& folder, const std::vector<const RunReport*>& runs,
               const SystemReport* system);

}  // namespace analysis::report
