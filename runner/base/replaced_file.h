// Replaces a file atomically: writes a whole file or nothing.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "runner/base/descriptor.h"

namespace base {

/// Opens `path`, the name of an unfinished file, for reading and writing: always a new file, in
/// place of one that is there. A link that somebody put there is removed, not followed. Empty, with
/// errno set, if it cannot be opened.
Descriptor open_part(const std::string& path, mode_t mode = 0666);

/// A regular file written piece by piece. finish() replaces the file at `path`; without it that
/// file stays unchanged. The new file has the mode of the one that it replaces. Each call throws
/// SystemError with path and reason.
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

/// The same for a name that the program chose itself in a folder that others may write to: replaces
/// a link or pipe that somebody put there.
void replace_file(const std::string& path, std::string_view text);

}  // namespace base
