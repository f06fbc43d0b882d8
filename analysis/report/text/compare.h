// Comparisons as text.
#pragma once

#include <cstddef>

#include "analysis/findings/compared.h"
#include "analysis/report/text/page.h"

namespace analysis::report {

/// Layers shown per comparison; JSON has all.
inline constexpr std::size_t kMostLayers = 12;

/// For each benchmark: the sides, the ratios of their times and of the factors of these,
/// differences in conditions, and for runs with telemetry the subsystems, ranks and layers.
void write_compare_text(TextPage& page, const Compared& compared);

}  // namespace analysis::report
