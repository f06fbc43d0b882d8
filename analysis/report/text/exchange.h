// Comparisons of results of `bench exchange` as text.
#pragma once

#include <string>
#include <vector>

#include "analysis/comparison/exchange_result.h"

namespace analysis::report {

/// A table for each other file: median times of both, ratio, and whether it is more than noise.
/// comparisons[i] is of results[0] and results[i + 1].
std::string exchange_compare_text(const std::vector<comparison::ExchangeResult>& results,
                                  const std::vector<comparison::ExchangeComparison>& comparisons);

}  // namespace analysis::report
