// A file being written, whole or not at all.
// Hides short writes, errno and fsync.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runner/base/descriptor.h"

namespace staging {

/// Appends through a large buffer. Errors are SystemErrors naming path and offset.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  /// Goes on behind the first `kept_bytes` of the file, which need not exist if there are none.
  OutputFile(std::string path, std::int64_t kept_bytes);
  const std::string& path() const { return path_; }
  std::int64_t size() const { return written_ + static_cast<std::int64_t>(buffer_.size()); }
  void append(std::span<const std::byte> bytes);
  /// Flushes to the device and drops the pages from the page cache, so that what is read back is
  /// what the device holds.
  void finish();

 private:
  void flush();
  std::string path_;
  base::Descriptor descriptor_;
  std::vector<std::byte> buffer_;
  std::int64_t written_ = 0;
};

/// Makes renames inside `directory` last. Throws SystemError.
void sync_folder(const std::string& directory);

}  // namespace staging
