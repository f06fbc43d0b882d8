// Sorted keys of all ranks, dealt out to the ranks in ranges of nearly equal size.
// Hides how the ends of the ranges are found.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runner/communicator.h"

namespace parallel {

/// Memory that even_key_ranges() takes for each rank.
inline constexpr std::int64_t kKeyRangeBytes = 256 * sizeof(std::int64_t);

/// Collective. Cuts the 32-bit keys into one range for each rank, rising with the rank; equal keys
/// are in one range. A range has at most its even share of all ranks' keys, rounded up, and the
/// copies of its last key but one. Returns how many of this rank's keys, sorted, lie in each range.
/// below(bound): how many of this rank's `count` keys are below the bound, which may be 2^32.
std::vector<std::int64_t> even_key_ranges(
    const std::function<std::int64_t(std::uint64_t bound)>& below, std::int64_t count,
    const runner::Communicator& ranks);

}  // namespace parallel
