// How what a kernel writes reaches memory.
// Hides from what size on it pays to pass by the caches.
#pragma once

#include <cstdint>

namespace nn {

/// Through the caches, which read every line before it is written; or past them, where kernels can:
/// what is written in columns of 16 channels side by side.
enum class Stores { kCached, kStreamed };

/// For so many numbers that are written before any is read again. By measurement on two cores,
/// streaming floats takes two thirds of the time for 226 MB and for 57 MB; of what is smaller than
/// this, the next layer may find some in the caches.
template <class T>
constexpr Stores stores_of(std::int64_t numbers) {
  constexpr std::int64_t kFitsNoCache = std::int64_t{4} << 20;  // bytes
  const std::int64_t bytes = numbers * static_cast<std::int64_t>(sizeof(T));
  return bytes < kFitsNoCache ? Stores::kCached : Stores::kStreamed;
}

}  // namespace nn
