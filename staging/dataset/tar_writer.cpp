// Writes tar archives.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "staging/dataset/encode.h"
#include "staging/dataset/tar.h"

namespace dataset {
namespace {

constexpr std::size_t kNameSize = 100;
/// The largest size that fits the size field's eleven octal digits.
constexpr std::size_t kMaxOctalSize = (std::size_t{1} << 33) - 1;
using Block = std::array<char, kTarBlock>;

void put(Block& block, std::size_t offset, std::string_view text) {
  std::copy(text.begin(), text.end(), block.begin() + static_cast<std::ptrdiff_t>(offset));
}

/// Writes octal digits, or GNU's base 256 if those do not suffice.
void put_size(Block& block, std::size_t size) {
  constexpr std::size_t kOffset = 124, kWidth = 12;
  if (size <= kMaxOctalSize) {
    put(block, kOffset, fmt::format("{:011o}", size));
    return;
  }
  for (std::size_t i = 0; i < sizeof(size); ++i) {
    block[kOffset + kWidth - 1 - i] = static_cast<char>(size >> (8 * i) & 0xff);
  }
  block[kOffset] = static_cast<char>(0x80);
}

}  // namespace

void TarWriter::header(const std::string& name, char type, std::size_t size) {
  Block block{};
  put(block, 0, std::string_view(name).substr(0, kNameSize));
  put(block, 100, type == '5' ? "0000755" : "0000644");
  put(block, 108, "0000000");  // owner
  put(block, 116, "0000000");  // group
  put_size(block, size);
  put(block, 136, "00000000000");  // time
  put(block, 148, "        ");     // the checksum field counts as blanks
  block[156] = type;
  put(block, 257, "ustar  ");  // GNU's magic, since long names are GNU's
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  put(block, 148, fmt::format("{:06o}", sum));
  block[154] = '\0';
  out_.write(block.data(), kTarBlock);
}

void TarWriter::body(std::span<const std::byte> data) {
  out_.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  const Block zeros{};
  const std::size_t rest = data.size() % kTarBlock;
  if (rest != 0) out_.write(zeros.data(), static_cast<std::streamsize>(kTarBlock - rest));
}

void TarWriter::add(const std::string& name, char type, std::span<const std::byte> data) {
  if (name.size() >= kNameSize) {
    header("././@LongLink", 'L', name.size() + 1);
    body(std::as_bytes(std::span(name.c_str(), name.size() + 1)));
  }
  header(name, type, data.size());
  body(data);
}

void TarWriter::add_folder(const std::string& name) { add(name + "/", '5', {}); }

void TarWriter::add_file(const std::string& name, std::span<const std::byte> data) {
  add(name, '0', data);
}

void TarWriter::finish() {
  const Block zeros{};
  out_.write(zeros.data(), kTarBlock);
  out_.write(zeros.data(), kTarBlock);
}

}  // namespace dataset
