// Bytes on their way from memory before they are needed.
// Hides the instruction. May be included in what is compiled once per instruction set: internal
// linkage, nothing of the standard library.
#pragma once

#include <cstdint>

namespace nn {
namespace {

constexpr std::int64_t kCacheLine = 64;

/// Always inline, as whatever calls nothing else must be, too: GCC 12 takes functions of nothing
/// but __builtin_prefetch for ones without effect, and drops calls of them.
[[gnu::always_inline]] inline void fetch(const void* from, std::int64_t bytes) {
  const char* line = static_cast<const char*>(from);
  std::int64_t at = 0;
  for (; at + 4 * kCacheLine <= bytes; at += 4 * kCacheLine) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) __builtin_prefetch(line + at + i * kCacheLine);
  }
  for (; at < bytes; at += kCacheLine) __builtin_prefetch(line + at);
}

/// The lines that so many bytes begin in, which are neighbours.
template <std::int64_t kBytes>
[[gnu::always_inline]] inline void fetch_lines(const void* from) {
  const char* line = static_cast<const char*>(from);
#pragma GCC unroll 16
  for (std::int64_t at = 0; at < kBytes; at += kCacheLine) __builtin_prefetch(line + at);
}

}  // namespace
}  // namespace nn
