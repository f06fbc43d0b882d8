// Comparisons as a tidy CSV table.
#pragma once

#include <string>

#include "analysis/findings/compared.h"

namespace analysis::report {

/// A row per comparison and figure: benchmark, first, second, figure, unit, first_value,
/// second_value, ratio, low, high, p_value, distinguishable.
std::string compare_csv(const Compared& compared);

}  // namespace analysis::report
