// XXH3 by the baseline's instructions. CMake chooses between this file and hash_x86.cpp.
#include "staging/hash.h"

// Inlined, as the library's header recommends for speed.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace staging {

std::uint64_t hash_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace staging
