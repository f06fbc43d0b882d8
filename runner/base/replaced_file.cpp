// Atomic replacement of files.
#include "runner/base/replaced_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "runner/base/error.h"
#include "runner/base/exclusive_file.h"

namespace base {
namespace {

namespace fs = std::filesystem;

void write_all(int file, const std::string& shown, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(file, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) throw system_error(shown + ": cannot be written", errno);
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

}  // namespace

Descriptor open_part(const std::string& path, mode_t mode) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  Descriptor file(::open(path.c_str(), kFlags, mode));
  if (file || errno != EEXIST || ::unlink(path.c_str()) != 0) return file;
  return Descriptor(::open(path.c_str(), kFlags, mode));
}

// Others may know this process's number and put links in its way: the name is random.
ReplacedFile::ReplacedFile(const std::string& path)
    : path_(path), partial_(fmt::format("{}.partial.{}", path, unique_token())) {
  constexpr mode_t kPermissions = 0777;
  struct stat before {};
  const bool is_any = ::lstat(path.c_str(), &before) == 0;
  if (is_any && S_ISDIR(before.st_mode)) {  // known before the text is written
    throw system_error(path + ": cannot be opened for writing", EISDIR);
  }
  const bool is_there = is_any && S_ISREG(before.st_mode);
  const mode_t mode = is_there ? before.st_mode & kPermissions : 0666;
  file_ = open_part(partial_, mode);
  if (!file_) throw system_error(path + ": cannot be opened for writing", errno);
  if (is_there) ::fchmod(file_.get(), mode);  // the umask may have taken some away
}

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
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file) throw system_error(path + ": cannot be opened for writing", errno);
    return write_all(file.get(), path, text);
  }
  replace_file(fs::exists(found) ? fs::canonical(path).string() : path, text);
}

void replace_file(const std::string& path, std::string_view text) {
  ReplacedFile file(path);
  file.write(text);
  file.finish();
}

}  // namespace base
