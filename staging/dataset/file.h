// Positioned, checked reads of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runner/base/descriptor.h"

namespace dataset {

/// A file open for reading. Reads carry their own offset, so threads may share it.
class File {
 public:
  /// Throws DataError naming the path when it cannot be opened or is no regular file.
  explicit File(std::string path);
  const std::string& path() const { return path_; }
  std::int64_t size() const { return size_; }
  /// Modification time in nanoseconds since the Unix epoch.
  std::int64_t mtime_ns() const { return mtime_ns_; }
  /// Whether size or modification time differ from those when it was opened.
  bool has_changed() const;
  /// Fills `out` from `offset`. Throws DataError naming path and offset when the file is too short
  /// or a read fails.
  void read(std::int64_t offset, std::span<std::byte> out) const;
  /// Like read(), but stops at the end of the file. Returns the number of bytes read.
  std::int64_t read_some(std::int64_t offset, std::span<std::byte> out) const;

 private:
  std::string path_;
  base::Descriptor descriptor_;
  std::int64_t size_ = 0, mtime_ns_ = 0;
};

/// All of the file, of which the first bytes were read: `head`. Throws as File::read().
std::vector<std::byte> read_rest(const File& file, std::span<const std::byte> head);

/// What people should know about a file that somebody writes to while it is used.
std::string change_remark(const std::string& path);

struct FileStamp {
  std::int64_t size = 0;
  std::int64_t mtime_ns = 0;  ///< since the Unix epoch
};
/// Size and modification time. Throws DataError naming the path.
FileStamp stamp_of(const std::string& path);

/// The lines of a (small) text file, without line ends. Throws DataError.
std::vector<std::string> read_lines(const std::string& path);

}  // namespace dataset
