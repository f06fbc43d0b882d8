// Checks runs at the same time that are rated together by throughput (weak/): seeds and scale.
#pragma once

#include "analysis/submission/package_findings.h"
#include "analysis/submission/system_description.h"

namespace analysis::submission {

/// Instances with equal seeds count as one run: all but one of them belong in pruned_results. The
/// system of the description must be no larger than all instances together, including pruned ones.
/// Source: hpc_training_rules, throughput.
void check_throughput(const PackageRuns& set, const SystemDescription* description,
                      PackageFindings& findings);

}  // namespace analysis::submission
