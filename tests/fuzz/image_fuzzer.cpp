// Arbitrary bytes as a JPEG or PNG image: a DataError, or pixels of the size that the header says.
// The checksums of a PNG's chunks are corrected, as no fuzzer would guess them.
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runner/base/error.h"
#include "staging/dataset/dataset.h"
#include "staging/dataset/encode.h"
#include "tests/fuzz/memory_file.h"

namespace {

constexpr int kLargestSide = 256;

std::uint32_t big_endian(std::span<const std::byte> four) {
  std::uint32_t value = 0;
  for (const std::byte byte : four) value = value << 8 | std::to_integer<std::uint32_t>(byte);
  return value;
}

/// Gives each whole chunk (length, type, data, checksum) after the signature the right checksum.
void correct_checksums(std::vector<std::byte>& png) {
  constexpr std::size_t kSignature = 8, kField = 4;
  for (std::size_t at = kSignature; at + 3 * kField <= png.size();) {
    const std::size_t data = big_endian(std::span(png).subspan(at, kField));
    if (data > png.size() - at - 3 * kField) return;
    const auto* const summed = reinterpret_cast<const Bytef*>(png.data() + at + kField);
    auto sum = static_cast<std::uint32_t>(crc32(0, summed, static_cast<uInt>(kField + data)));
    at += 2 * kField + data;
    for (std::size_t i = kField; i-- > 0; sum >>= 8) png[at + i] = static_cast<std::byte>(sum);
    at += kField;
  }
}

void decode(const std::vector<std::byte>& bytes) {
  try {
    const dataset::Image header = dataset::decode_image_header(bytes, "fuzz");
    fuzz::require(header.height > 0 && header.width > 0 && header.pixels.empty());
    if (std::max(header.height, header.width) > kLargestSide) return;
    const dataset::Image image = dataset::decode_image(bytes, "fuzz");
    for (const int shrink : {2, 8}) {
      dataset::decode_view(bytes, "fuzz", [&](int height, int width) {
        return dataset::View({height / 3, width / 3, height - height / 3, width - width / 3},
                             shrink);
      });
    }
    fuzz::require(image.height == header.height && image.width == header.width);
    fuzz::require(std::ssize(image.pixels) == std::ptrdiff_t{3} * image.height * image.width);
    const dataset::Image again = dataset::decode_image(dataset::encode_png(image), "again");
    fuzz::require(again.pixels == image.pixels && again.flaw.empty());
  } catch (const base::DataError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto given = std::as_bytes(std::span(data, size));
  std::vector<std::byte> bytes(given.begin(), given.end());
  decode(bytes);
  correct_checksums(bytes);
  if (!std::ranges::equal(bytes, given)) decode(bytes);
  return 0;
}
