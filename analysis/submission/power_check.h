// Checks the power measurements next to results: power/result_<i>/node_<j>.txt and sw_<k>.txt.
#pragma once

#include <set>
#include <string>

#include "analysis/submission/package_findings.h"

namespace analysis::submission {

/// The runs ("result_1.txt") whose power measurement is missing or misnamed, or has another number
/// of nodes or switches than in most runs; empty if the folder has no power/. Adds a finding for
/// each. Such a run counts as a failing one.
std::set<std::string> runs_without_power(const PackageRuns& set, PackageFindings& findings);

}  // namespace analysis::submission
