// Power measurements beside results: power/result_<i>/node_<j>.txt and sw_<k>.txt.
// Hides the names.
#pragma once

#include <set>
#include <string>

#include "analysis/submission/package_findings.h"

namespace analysis::submission {

/// The runs ("result_1.txt") whose power measurement is missing, misnamed or of another number of
/// nodes or switches than most; none where the folder has no power/. Each has a finding. Such a run
/// counts as one that fails.
std::set<std::string> runs_without_power(const PackageRuns& set, PackageFindings& findings);

}  // namespace analysis::submission
