// Comparisons as text and as JSON.
// Hides their layout.
#pragma once

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/compared.h"

namespace analysis::report {

/// Benchmark by benchmark: the sides, how their times differ and by which factors, what they do not
/// have in common, and for this program's own runs the subsystems, ranks and layers.
void write_compare_text(std::ostream& out, const Compared& compared, std::size_t width);

/// {"schema", "kind": "runs", "per", "groups": [{benchmark, sides, comparisons}], "left_out",
/// "definitions"}.
std::string compare_json_text(const Compared& compared);

/// What the figures mean, by their names in JSON.
const std::vector<std::pair<std::string, std::string>>& comparison_definitions();

}  // namespace analysis::report
