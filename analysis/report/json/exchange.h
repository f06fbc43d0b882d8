// Comparisons of results of `bench exchange` as JSON.
#pragma once

#include <string>
#include <vector>

#include "analysis/comparison/exchange_result.h"

namespace analysis::report {

/// {"schema", "kind": "exchange", "results", "comparisons", "definitions"}. comparisons[i] is of
/// results[0] and results[i + 1].
std::string exchange_compare_json_text(
    const std::vector<comparison::ExchangeResult>& results,
    const std::vector<comparison::ExchangeComparison>& comparisons);

}  // namespace analysis::report
