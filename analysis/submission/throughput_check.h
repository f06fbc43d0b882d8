// Runs at the same time, rated together by throughput (weak/): their seeds and their scale.
// Hides what a scale is.
#pragma once

#include "analysis/submission/package_findings.h"
#include "analysis/submission/system_description.h"

namespace analysis::submission {

/// Instances of equal seeds are one run: all but one of them belong into pruned_results. And the
/// whole system, the description's, is no larger than all of them, pruned ones too, at once.
/// Source: hpc_training_rules, throughput.
void check_throughput(const PackageRuns& set, const SystemDescription* description,
                      PackageFindings& findings);

}  // namespace analysis::submission
