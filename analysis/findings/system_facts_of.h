// Finds what the runs of one set say together.
// Hides the olympic rule and where the system's description is found.
#pragma once

#include <filesystem>
#include <vector>

#include "analysis/systems.h"

namespace analysis {

/// `folder` holds the set's logs; scaling.json in it and ../../systems/<system>.json of the
/// submission around it are read when they exist, and damaged ones are added to `findings`.
SystemFacts system_facts_of(const std::filesystem::path& folder,
                            const std::vector<SetMember>& members, std::vector<Finding>& findings);

}  // namespace analysis
