// The facts of a set of runs on one system.
#pragma once

#include <filesystem>
#include <vector>

#include "analysis/systems.h"

namespace analysis {

/// `folder` holds the set's logs. Also reads, if present, scaling.json in it and
/// systems/<system>.json of the submission around it (entry.json for Training 0.5). Adds a finding
/// for each damaged file, and the findings of audit_set().
SystemFacts system_facts_of(const std::filesystem::path& folder,
                            const std::vector<SetMember>& members, std::vector<Finding>& findings);

}  // namespace analysis
