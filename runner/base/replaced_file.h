// Replaces a file atomically: writes a whole file or nothing.
#pragma once

#include <string>
#include <string_view>

#include "runner/base/descriptor.h"

namespace base {

/// A regular file written piece by piece. finish() replaces the file at `path`; without it that
/// file stays unchanged. Each call throws SystemError with path and reason.
class ReplacedFile {
 public:
  explicit ReplacedFile(const std::string& path);
  ~ReplacedFile();
  ReplacedFile(const ReplacedFile&) = delete;
  ReplacedFile& operator=(const ReplacedFile&) = delete;
  void write(std::string_view text);
  void finish();

 private:
  std::string path_, partial_;
  Descriptor file_;
};

/// Replaces the file at `path`: writes a temporary file in the same folder, syncs and renames it.
/// Follows symbolic links. An existing path that is no regular file (a device, a pipe) is written
/// in place. Throws SystemError with path and reason; a regular file is then unchanged.
void write_file(const std::string& path, std::string_view text);

}  // namespace base
