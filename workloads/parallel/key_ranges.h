// Divides the sorted keys of all ranks into one range for each rank, of nearly equal sizes.
// Hides the distributed search for the ends of the ranges.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runner/communicator.h"

namespace parallel {

/// Bytes that even_key_ranges() takes for each rank of the communicator.
inline constexpr std::int64_t kKeyRangeBytes = 256 * sizeof(std::int64_t);

/// Collective. Divides the 32-bit keys into one range for each rank, in ascending order; equal keys
/// fall into one range. A range has at most ceil(keys of all ranks / ranks) keys, plus the
/// duplicates of its last key. Returns how many of this rank's sorted keys lie in each range.
/// below(bound) returns how many of this rank's `count` keys are less than the bound, which may be
/// 2^32.
std::vector<std::int64_t> even_key_ranges(
    const std::function<std::int64_t(std::uint64_t bound)>& below, std::int64_t count,
    const runner::Communicator& ranks);

}  // namespace parallel
