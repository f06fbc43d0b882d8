// Comparisons as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analysis/comparison/bench_result.h"
#include "analysis/findings/compared.h"

namespace analysis::report {

/// Version of the documents of `compare --json`. Incremented when a reader of the previous version
/// would misread them.
inline constexpr int kCompareSchema = 1;

/// {"schema", "kind": "runs", "per", "groups": [{benchmark, sides, comparisons}], "left_out",
/// "definitions"}.
std::string compare_json_text(const Compared& compared);

/// The document of results of a bench: {"schema", "kind", "results", "comparisons", "definitions"}.
std::string bench_document_text(const char* kind, nlohmann::ordered_json results,
                                nlohmann::ordered_json comparisons,
                                nlohmann::ordered_json definitions);

/// Parts common to the documents of runs and of bench results. An interval that is not finite
/// gives null.
nlohmann::ordered_json layers_json(const std::vector<comparison::LayerDifference>& layers);
nlohmann::ordered_json interval_json(const comparison::Interval& interval);

}  // namespace analysis::report
