// Prefetching of memory ranges. May be included by source compiled once per instruction set:
// internal linkage, no standard library.
#pragma once

#include <cstdint>

namespace nn {
namespace {

constexpr std::int64_t kCacheLine = 64;

/// Prefetches the cache lines from `from` on. Always inline, and so must be every caller that does
/// nothing else: GCC 12 takes a function of nothing but __builtin_prefetch for one without effect,
/// and drops calls of it.
[[gnu::always_inline]] inline void fetch(const void* from, std::int64_t bytes) {
  const char* line = static_cast<const char*>(from);
  std::int64_t at = 0;
  for (; at + 4 * kCacheLine <= bytes; at += 4 * kCacheLine) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) __builtin_prefetch(line + at + i * kCacheLine);
  }
  for (; at < bytes; at += kCacheLine) __builtin_prefetch(line + at);
}

/// The same for a byte count known at compile time.
template <std::int64_t kBytes>
[[gnu::always_inline]] inline void prefetch_lines(const void* from) {
  const char* line = static_cast<const char*>(from);
#pragma GCC unroll 16
  for (std::int64_t at = 0; at < kBytes; at += kCacheLine) __builtin_prefetch(line + at);
}

}  // namespace
}  // namespace nn
