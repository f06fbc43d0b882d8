// The 64-bit hash of samples and checkpoints: XXH3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace staging {

std::uint64_t hash_of(std::span<const std::byte> bytes);

}  // namespace staging
