// Writes a whole file or nothing.
// Hides the temporary file, and that devices and pipes have none.
#pragma once

#include <string>
#include <string_view>

#include "runner/base/descriptor.h"

namespace base {

/// A regular file that is written piece by piece: it replaces what is at `path` with finish(), or
/// leaves it as it was. Each call throws SystemError with path and reason.
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

/// Replaces the file at `path`: writes beside it, syncs, renames. A symbolic link is followed. What
/// is there and no regular file (a device, a pipe) is written to and stays. Throws SystemError with
/// path and reason; a regular file is then as it was.
void write_file(const std::string& path, std::string_view text);

}  // namespace base
