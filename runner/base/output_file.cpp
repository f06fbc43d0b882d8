// Atomic replacement of files.
// Hides the system calls.
#include "runner/base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "runner/base/error.h"
#include "runner/base/unique_handle.h"

namespace base {
namespace {

namespace fs = std::filesystem;

struct DescriptorTraits {
  using Raw = int;
  static Raw null() { return -1; }
  static void close(Raw raw) { ::close(raw); }
};
using Descriptor = UniqueHandle<DescriptorTraits>;

/// Messages name `shown`, the path that the caller knows.
Descriptor open_to_write(const std::string& path, int flags, const std::string& shown) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666));
  if (file.get() < 0) throw system_error(shown + ": cannot be opened for writing", errno);
  return file;
}

void write_all(const Descriptor& file, const std::string& shown, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(file.get(), text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) throw system_error(shown + ": cannot be written", errno);
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

void replace(const std::string& path, std::string_view text) {
  const std::string partial = fmt::format("{}.partial.{}", path, ::getpid());
  try {
    const Descriptor file = open_to_write(partial, O_CREAT | O_TRUNC, path);
    write_all(file, path, text);
    if (::fsync(file.get()) != 0) throw system_error(path + ": cannot be written", errno);
    if (std::rename(partial.c_str(), path.c_str()) != 0) {
      throw system_error(path + ": cannot be put in place", errno);
    }
  } catch (...) {
    ::unlink(partial.c_str());
    throw;
  }
}

}  // namespace

void write_file(const std::string& path, std::string_view text) {
  std::error_code error;
  const fs::file_status found = fs::status(path, error);
  if (!fs::exists(found)) return replace(path, text);
  if (fs::is_regular_file(found)) return replace(fs::canonical(path).string(), text);
  write_all(open_to_write(path, 0, path), path, text);
}

}  // namespace base
