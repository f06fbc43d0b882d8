// What only a set of runs shows.
#pragma once

#include <vector>

#include "analysis/systems.h"

namespace analysis {

/// Findings that only a set shows: counts, seeds and settings that do not fit together, and logs
/// that contradict the system's description.
std::vector<Finding> audit_set(const SystemFacts& system, const std::vector<SetMember>& members,
                               const DescribedSystem& description);

}  // namespace analysis
