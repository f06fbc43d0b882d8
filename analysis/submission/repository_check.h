// Checks whether a submission's files are fit for a git repository on GitHub.
#pragma once

#include "analysis/submission/package_findings.h"

namespace analysis::submission {

/// Reports names that begin with '.' or contain a space, files over 50 MiB, and links whose target
/// does not exist, seen from the link's folder. They are errors since round 2.0 of Training and
/// HPC, as in the official repository checker, and warnings before. Skips `.git`. Also checks the
/// submission's own name.
void check_repository(const Submission& submission, const PackageTree& tree,
                      PackageFindings& findings);

}  // namespace analysis::submission
