// Choice between ordinary and streaming (non-temporal) stores, by size of the output.
#pragma once

#include <cstdint>

namespace nn {

/// kCached: ordinary stores, for which the cache reads each line before it is written. kStreamed:
/// non-temporal stores, if the kernel supports them: for columns of 16 channels side by side, or
/// rows of all channels.
enum class Stores { kCached, kStreamed };

/// The kind of stores for `numbers` elements that are written before any is read again. Of fewer,
/// the next layer may find some in the caches. Measured on two cores of an AMD EPYC, streaming
/// floats takes two thirds of the time for 226 MB and for 57 MB. On two cores of a Xeon with AMX, a
/// batch norm took 0.67 instead of 1.44 ms to write 10 MB in bfloat16, 5.5 instead of 11.4 ms for
/// 113 MB, and 0.25 instead of 0.42 ms for 3.5 MB.
template <class T>
constexpr Stores stores_of(std::int64_t numbers, bool has_tiles) {
  constexpr std::int64_t kFitsNoCache = std::int64_t{64} << 20, kWithTiles = 2 << 20;  // bytes
  const std::int64_t bytes = numbers * static_cast<std::int64_t>(sizeof(T));
  return bytes < (has_tiles ? kWithTiles : kFitsNoCache) ? Stores::kCached : Stores::kStreamed;
}

}  // namespace nn
