// The 64-bit hash of samples and checkpoints: XXH3.
#pragma once

// Inlined, as the library's header recommends for speed.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace staging {

inline std::uint64_t hash_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace staging
