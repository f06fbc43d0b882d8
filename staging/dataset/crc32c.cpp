// The checksum of TFRecord files, computed eight bytes at a time with one table for each.
#include "staging/dataset/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

namespace dataset {
namespace {

static_assert(std::endian::native == std::endian::little, "bytes are taken as a number of 64 bits");

constexpr std::size_t kSlices = 8;
using Tables = std::array<std::array<std::uint32_t, 256>, kSlices>;

/// tables[k][b]: the effect of byte b on the checksum when k more bytes follow it.
constexpr Tables make_tables() {
  constexpr std::uint32_t kReflectedPolynomial = 0x82f63b78;
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 1U) != 0 ? crc >> 1U ^ kReflectedPolynomial : crc >> 1U;
    }
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < kSlices; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = before >> 8U ^ tables[0][before & 0xffU];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (; bytes.size() >= kSlices; bytes = bytes.subspan(kSlices)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    word ^= crc;
    crc = 0;
    for (std::size_t i = 0; i < kSlices; ++i) {
      crc ^= kTables[kSlices - 1 - i][word >> (8 * i) & 0xffU];
    }
  }
  for (const std::byte byte : bytes) {
    crc = crc >> 8U ^ kTables[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xffU];
  }
  return ~crc;
}

}  // namespace dataset
