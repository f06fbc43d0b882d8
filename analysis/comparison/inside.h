// Where the time of this program's own runs differs: subsystems, ranks, stragglers, layers.
// Hides the means over runs.
#pragma once

#include <optional>

#include "analysis/comparison/run_comparison.h"

namespace analysis::comparison {

/// Over the successful runs, or over all where a side has none. Nothing unless runs of both sides
/// have telemetry.
std::optional<Inside> look_inside(const Side& first, const Side& second);

}  // namespace analysis::comparison
