// What the figures of a comparison mean.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace analysis {

/// By their names in JSON.
const std::vector<std::pair<std::string, std::string>>& comparison_definitions();

}  // namespace analysis
