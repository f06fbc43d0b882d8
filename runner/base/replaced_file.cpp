// Atomic replacement of files.
#include "runner/base/replaced_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "runner/base/error.h"
#include "runner/base/system_facts.h"

namespace base {
namespace {

namespace fs = std::filesystem;

/// Messages name `shown`, the path that the caller passed.
Descriptor open_to_write(const std::string& path, int flags, const std::string& shown) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666));
  if (!file) throw system_error(shown + ": cannot be opened for writing", errno);
  return file;
}

void write_all(int file, const std::string& shown, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(file, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) throw system_error(shown + ": cannot be written", errno);
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

}  // namespace

ReplacedFile::ReplacedFile(const std::string& path)
    : path_(path),
      partial_(fmt::format("{}.partial.{}.{}", path, host_name(), ::getpid())),
      file_(open_to_write(partial_, O_CREAT | O_TRUNC, path)) {}

ReplacedFile::~ReplacedFile() {
  if (!partial_.empty()) ::unlink(partial_.c_str());
}

void ReplacedFile::write(std::string_view text) { write_all(file_.get(), path_, text); }

void ReplacedFile::finish() {
  if (::fsync(file_.get()) != 0) throw system_error(path_ + ": cannot be written", errno);
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) {
    throw system_error(path_ + ": cannot be put in place", errno);
  }
  partial_.clear();
}

void write_file(const std::string& path, std::string_view text) {
  std::error_code error;
  const fs::file_status found = fs::status(path, error);
  if (fs::exists(found) && !fs::is_regular_file(found)) {
    const Descriptor file(open_to_write(path, 0, path));
    return write_all(file.get(), path, text);
  }
  ReplacedFile file(fs::exists(found) ? fs::canonical(path).string() : path);
  file.write(text);
  file.finish();
}

}  // namespace base
