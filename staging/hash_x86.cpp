// XXH3 by the widest vectors of the machine, which the library chooses at its first call.
#include <xxh_x86dispatch.h>

#include "staging/hash.h"

namespace staging {

std::uint64_t hash_of(std::span<const std::byte> bytes) {
  return XXH3_64bits_dispatch(bytes.data(), bytes.size());
}

}  // namespace staging
