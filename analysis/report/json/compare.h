// Comparisons as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analysis/comparison/bench_result.h"
#include "analysis/findings/compared.h"

namespace analysis::report {

/// Of what `compare --json` writes; raised when a reader of the version before would misread it.
inline constexpr int kCompareSchema = 1;

/// {"schema", "kind": "runs", "per", "groups": [{benchmark, sides, comparisons}], "left_out",
/// "definitions"}.
std::string compare_json_text(const Compared& compared);

/// Parts that both documents have. An interval that is none is null.
nlohmann::ordered_json layers_json(const std::vector<comparison::LayerDifference>& layers);
nlohmann::ordered_json interval_json(const comparison::Interval& interval);

}  // namespace analysis::report
