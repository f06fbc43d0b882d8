// The checksum of TFRecord files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dataset {

/// CRC-32C (Castagnoli): reflected, polynomial 0x1edc6f41. Source: RFC 3720, section 12.1.
std::uint32_t crc32c(std::span<const std::byte> bytes);

}  // namespace dataset
