// Sets of dataset indices: half-open ranges.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace staging {

/// Half-open ranges of dataset indices.
using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Sorts ranges, joins overlapping and adjacent ones, and drops empty ones.
Ranges merged(Ranges ranges);

}  // namespace staging
