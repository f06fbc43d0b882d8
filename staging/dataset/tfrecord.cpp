// Reading and writing the records of a TFRecord file.
#include "staging/dataset/tfrecord.h"

#include <fmt/core.h>

#include <bit>
#include <cstring>
#include <utility>

#include "runner/base/error.h"
#include "staging/dataset/crc32c.h"

namespace dataset {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they lie");

template <class T>
T number(std::span<const std::byte> bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

template <class T>
void append(std::vector<std::byte>& out, T value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

std::uint32_t masked_crc32c(std::span<const std::byte> bytes) {
  constexpr int kRotation = 15;
  constexpr std::uint32_t kMaskDelta = 0xa282ead8;
  return std::rotr(crc32c(bytes), kRotation) + kMaskDelta;
}

bool is_tfrecord(std::span<const std::byte> bytes) {
  constexpr std::size_t kLength = sizeof(std::uint64_t);
  return bytes.size() >= kLength + sizeof(std::uint32_t) &&
         number<std::uint32_t>(bytes.subspan(kLength)) == masked_crc32c(bytes.first(kLength));
}

RecordReader::RecordReader(std::span<const std::byte> bytes, std::string name)
    : bytes_(bytes), name_(std::move(name)) {}

void RecordReader::fail(std::size_t offset, const std::string& what) const {
  throw base::DataError(fmt::format("{}: offset {}: {}", name_, offset, what));
}

std::span<const std::byte> RecordReader::take(std::size_t size, const char* what) {
  const std::size_t left = bytes_.size() - position_;
  if (size > left) {
    fail(position_, fmt::format("the file is cut: expected {} bytes of a record's {}, found {}",
                                size, what, left));
  }
  const auto taken = bytes_.subspan(position_, size);
  position_ += size;
  return taken;
}

void RecordReader::check(std::span<const std::byte> data, const char* what) {
  const std::size_t at = position_;
  const auto found = number<std::uint32_t>(take(sizeof(std::uint32_t), "checksum"));
  const std::uint32_t expected = masked_crc32c(data);
  if (found != expected) {
    fail(at, fmt::format("expected the checksum {:08x} of a record's {}, found {:08x}", expected,
                         what, found));
  }
}

std::optional<std::span<const std::byte>> RecordReader::next() {
  if (position_ == bytes_.size()) return std::nullopt;
  const auto length = take(sizeof(std::uint64_t), "length");
  check(length, "length");
  data_offset_ = offset();
  const auto data = take(number<std::uint64_t>(length), "data");
  check(data, "data");
  return data;
}

void append_record(std::vector<std::byte>& file, std::span<const std::byte> data) {
  const auto length = static_cast<std::uint64_t>(data.size());
  file.reserve(file.size() + data.size() + sizeof(length) + 2 * sizeof(std::uint32_t));
  append(file, length);
  append(file, masked_crc32c(std::as_bytes(std::span(&length, 1))));
  file.insert(file.end(), data.begin(), data.end());
  append(file, masked_crc32c(data));
}

}  // namespace dataset
