// Comparisons of bench results as JSON.
#pragma once

#include <string>
#include <vector>

#include "analysis/comparison/bench_result.h"

namespace analysis::report {

/// {"schema", "kind": "bench", "results", "comparisons", "definitions"}. `comparisons` is the
/// result of compare_benches().
std::string bench_compare_json_text(const std::vector<comparison::BenchResult>& results,
                                    const std::vector<comparison::BenchComparison>& comparisons);

}  // namespace analysis::report
