// Audit of a set of runs.
#pragma once

#include <vector>

#include "analysis/systems.h"

namespace analysis {

/// Findings about a set: number of runs, equal seeds, different settings, and logs that contradict
/// the system's description.
std::vector<Finding> audit_set(const SystemFacts& system, const std::vector<SetMember>& members,
                               const DescribedSystem& description);

}  // namespace analysis
