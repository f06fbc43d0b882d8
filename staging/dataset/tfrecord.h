// Reading and writing the records of a TFRecord file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dataset {

/// The checksum as stored in records: the CRC-32C rotated, plus a constant.
std::uint32_t masked_crc32c(std::span<const std::byte> bytes);

/// Whether these bytes begin with a length and its checksum.
bool is_tfrecord(std::span<const std::byte> bytes);

/// Iterates over the records of a file in memory. A record is a little-endian uint64 length, the
/// masked CRC-32C of these 8 bytes, the data, and the masked CRC-32C of the data.
class RecordReader {
 public:
  /// `name` is used in messages. `bytes` must outlive the reader and the spans that it returns.
  RecordReader(std::span<const std::byte> bytes, std::string name);
  /// The data of the next record, or nullopt after the last. Throws DataError naming file and
  /// offset for a truncated file and for a wrong checksum, with the value expected and found.
  std::optional<std::span<const std::byte>> next();
  /// Offset in the file of the data that next() returned last.
  std::int64_t data_offset() const { return data_offset_; }
  /// Offset in the file of the first byte after that record.
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

void append_record(std::vector<std::byte>& file, std::span<const std::byte> data);

}  // namespace dataset
