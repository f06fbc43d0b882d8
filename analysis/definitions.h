// What figures and the conventions behind them mean.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace analysis {

/// Conventions behind several figures: what a record is, which evaluations count, how intervals
/// are paired.
const std::vector<std::pair<std::string, std::string>>& conventions();

/// The definition of a figure, convention or subsystem; "" when there is none of that name.
std::string definition_of(const std::string& name);

}  // namespace analysis
