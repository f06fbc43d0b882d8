// Definitions of the figures of a comparison.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace analysis {

/// Pairs of the name in JSON and the definition.
const std::vector<std::pair<std::string, std::string>>& comparison_definitions();

}  // namespace analysis
