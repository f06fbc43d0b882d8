// What two sides do not have in common.
// Hides where conditions are told: logs, descriptions, configurations, telemetry.
#pragma once

#include <string>
#include <vector>

#include "analysis/comparison/side.h"

namespace analysis::comparison {

/// One condition that both sides should share, or that explains a difference.
struct Unequal {
  std::string what, first, second;
};

/// What makes it unfair to hold one against the other: round, division, batch size, target, data,
/// optimizer, and how staging, evaluation and scores are accounted for.
std::vector<Unequal> unequal_conditions(const Side& first, const Side& second);

/// What may explain a difference: machine, size, settings, program. What varies among the runs of a
/// side, such as seeds, is left out.
std::vector<Unequal> other_differences(const Side& first, const Side& second);

}  // namespace analysis::comparison
