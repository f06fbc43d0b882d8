// Reads files that others wrote. Only regular files are opened, and no read waits: a pipe, a device
// or a file of the kernel that has nothing to say yet is an error, never a program that stands
// still.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <istream>
#include <optional>
#include <streambuf>
#include <string>
#include <utility>

#include "runner/base/descriptor.h"

namespace base {

/// Most bytes of a configuration, a description and other small files.
inline constexpr std::int64_t kMostFileBytes = std::int64_t{16} << 20;

/// What a path is that is no regular file, by its mode, for messages: "a folder", "a pipe".
const char* kind_in_words(mode_t mode);

/// Opens a file for reading. Does not wait for the writer of a pipe, but for the holder of a lease
/// on a regular file. Empty, with errno set, if it cannot be opened.
Descriptor open_to_read(const std::string& path);

/// The text of a regular file of at most `most_bytes`. Nothing, with `problem` set, if it cannot be
/// read: "cannot open: No such file or directory", "expected a regular file, found a folder",
/// "expected at most 16.0 MiB, found 2.0 GiB".
std::optional<std::string> read_text(const std::string& path, std::string& problem,
                                     std::int64_t most_bytes = kMostFileBytes);

/// Reads from a descriptor. Messages name `path`.
class FileBuffer final : public std::streambuf {
 public:
  FileBuffer(Descriptor file, std::string path) : path_(std::move(path)), file_(std::move(file)) {}

 protected:
  /// Throws SystemError if the read fails.
  int_type underflow() override;
  /// Supports the start of the file, as seekg(0).
  pos_type seekpos(pos_type position, std::ios_base::openmode which) override;

 private:
  const std::string path_;
  Descriptor file_;
  std::array<char, std::size_t{1} << 16> buffer_{};
};

/// A stream of a regular file of any size. Its reads throw SystemError with path and reason if the
/// system refuses them, so that a damaged disk is never taken for the end of the file.
class InputFile final : public std::istream {
 public:
  /// Throws SystemError with path and reason if it cannot be opened or is not a regular file.
  explicit InputFile(const std::string& path);

 private:
  FileBuffer buffer_;
};

}  // namespace base
