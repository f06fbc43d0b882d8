// Definitions of figures and of the conventions behind them.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace analysis {

/// Conventions behind several figures, such as which evaluations count and how intervals are
/// paired.
const std::vector<std::pair<std::string, std::string>>& conventions();

/// The definition of a figure or convention; "" for an unknown name.
std::string definition_of(const std::string& name);

}  // namespace analysis
