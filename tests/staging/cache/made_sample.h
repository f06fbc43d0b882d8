// Samples for tests of caches: each has other bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cache {

inline std::vector<std::byte> sample(std::int64_t index, std::int64_t size) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(static_cast<std::size_t>(index) * 31 + i * 7);
  }
  return bytes;
}

}  // namespace cache
