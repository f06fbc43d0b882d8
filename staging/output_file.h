// A file that is written sequentially and flushed to the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runner/base/descriptor.h"

namespace staging {

/// Appends through a large buffer. Throws SystemError naming path and offset.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  /// Continues after the first `kept_bytes` of the file and drops the rest. The file need not exist
  /// if `kept_bytes` is 0.
  OutputFile(std::string path, std::int64_t kept_bytes);
  const std::string& path() const { return path_; }
  std::int64_t size() const { return written_ + static_cast<std::int64_t>(buffer_.size()); }
  void append(std::span<const std::byte> bytes);
  /// Flushes to the device and drops the file's pages from the page cache, so that a later read
  /// returns what the device holds.
  void finish();

 private:
  void flush();
  std::string path_;
  base::Descriptor descriptor_;
  std::vector<std::byte> buffer_;
  std::int64_t written_ = 0;
};

/// Writes all of `bytes` at `offset`. Throws SystemError beginning with `shown`, the file's name
/// for messages, and naming the offset.
void write_at(const base::Descriptor& file, const std::string& shown, std::int64_t offset,
              std::span<const std::byte> bytes);

/// Makes renames inside `directory` durable. Throws SystemError.
void sync_folder(const std::string& directory);

}  // namespace staging
