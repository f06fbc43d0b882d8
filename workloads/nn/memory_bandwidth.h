// What the machine's memory gives: the other bound of a layer beside its products.
// Hides how it is measured.
#pragma once

#include <cstdint>

#include "runner/base/clock.h"

namespace nn {

/// Size of the blocks, far beyond all caches. While it measures, a rank takes two of them for a
/// copy and three for a triad.
inline constexpr std::int64_t kBandwidthBlockBytes = std::int64_t{256} << 20;

/// Bytes a second that this process can copy between blocks beyond all caches, reads and writes
/// both counted: the best of `repetitions`, on all its threads.
double copy_bandwidth(int repetitions, const base::Clock& clock);

/// The same of a = b + s c, the triad of the STREAM benchmark: two blocks read, one written.
/// Source: McCalpin, "Memory bandwidth and machine balance", 1995.
double triad_bandwidth(int repetitions, const base::Clock& clock);

}  // namespace nn
