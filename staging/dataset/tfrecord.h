// Records of a TFRecord file, one after the other.
// Hides lengths and checksums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dataset {

/// The form in which records carry a checksum: its bits rotated, and a constant added.
std::uint32_t masked_crc32c(std::span<const std::byte> bytes);

/// Walks a file that lies in memory. A record is a little-endian uint64 length, the masked CRC-32C
/// of these 8 bytes, the data, and the masked CRC-32C of the data.
class RecordReader {
 public:
  /// `name` stands in messages; `bytes` outlive the reader and what it gives.
  RecordReader(std::span<const std::byte> bytes, std::string name);
  /// The data of the next record, or nothing behind the last. Throws DataError naming file and
  /// offset for a file that is cut and for a wrong checksum, with the value expected and found.
  std::optional<std::span<const std::byte>> next();
  /// In the file: of the data that came last.
  std::int64_t data_offset() const { return data_offset_; }
  /// In the file: of the first byte behind what came last.
  std::int64_t offset() const { return static_cast<std::int64_t>(position_); }

 private:
  std::span<const std::byte> take(std::size_t size, const char* what);
  void check(std::span<const std::byte> data, const char* what);
  [[noreturn]] void fail(std::size_t offset, const std::string& what) const;

  std::span<const std::byte> bytes_;
  std::string name_;
  std::size_t position_ = 0;
  std::int64_t data_offset_ = 0;
};

/// Appends a record.
void append_record(std::vector<std::byte>& file, std::span<const std::byte> data);

}  // namespace dataset
