// A run's quality as a plot of characters.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/facts.h"

namespace analysis::report {

/// Lines of at most `columns` characters: `rows` of the plot, the largest quality first, and one of
/// positions. Stars are evaluations, `o` is the one that met the target, dashes are the target.
/// Empty for fewer than two finite evaluations at different positions, and if labels leave no room.
std::vector<std::string> curve(const RunFacts& facts, std::size_t columns, std::size_t rows);

}  // namespace analysis::report
