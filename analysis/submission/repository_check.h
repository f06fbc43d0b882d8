// What a git repository on GitHub makes of a submission's files.
// Hides the walk.
#pragma once

#include "analysis/submission/package_findings.h"

namespace analysis::submission {

/// Names that begin with '.' or hold a blank, files over 50 MiB, links that lead nowhere from where
/// they stand: errors since training 2.0 and in HPC since 2.0, as the official repository checker
/// has it, warnings before. A `.git` is not looked into. The submission's own name counts too.
void check_repository(const Submission& submission, const PackageTree& tree,
                      PackageFindings& findings);

}  // namespace analysis::submission
