// Comparisons as text, JSON and CSV.
// Hides their layout.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "analysis/comparison/bench_result.h"
#include "analysis/report/compared.h"
#include "analysis/report/text_page.h"

namespace analysis::report {

/// Benchmark by benchmark: the sides, how their times differ and by which factors, what they do not
/// have in common, and for this program's own runs the subsystems, ranks and layers.
void write_compare_text(TextPage& page, const Compared& compared);

/// Of what `compare --json` writes; raised when a reader of the version before would misread it.
inline constexpr int kCompareSchema = 1;

/// {"schema", "kind": "runs", "per", "groups": [{benchmark, sides, comparisons}], "left_out",
/// "definitions"}.
std::string compare_json_text(const Compared& compared);

/// Of bench results: `comparisons` are those of compare_benches(). The JSON: {"schema", "kind":
/// "bench", "results", "comparisons", "definitions"}.
std::string bench_compare_text(const std::vector<comparison::BenchResult>& results,
                               const std::vector<comparison::BenchComparison>& comparisons);
std::string bench_compare_json_text(const std::vector<comparison::BenchResult>& results,
                                    const std::vector<comparison::BenchComparison>& comparisons);

/// Parts that both documents have. An interval that is none is null.
nlohmann::ordered_json layers_json(const std::vector<comparison::LayerDifference>& layers);
nlohmann::ordered_json interval_json(const comparison::Interval& interval);

/// A line for each figure of each comparison: benchmark, first, second, figure, unit, first_value,
/// second_value, ratio, low, high, p_value, distinguishable.
std::string compare_csv(const Compared& compared);

/// What the figures mean, by their names in JSON.
const std::vector<std::pair<std::string, std::string>>& comparison_definitions();

}  // namespace analysis::report
