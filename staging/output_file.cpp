// A file that is written sequentially and flushed to the device.
#include "staging/output_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <utility>

#include "runner/base/error.h"

namespace staging {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{8} << 20;

}  // namespace

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)) {
  if (!descriptor_) throw base::system_error(path_ + ": cannot be created", errno);
}

OutputFile::OutputFile(std::string path, std::int64_t kept_bytes)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644)),
      written_(kept_bytes) {
  if (!descriptor_) throw base::system_error(path_ + ": cannot be opened for writing", errno);
  if (::ftruncate(descriptor_.get(), kept_bytes) != 0) {
    throw base::system_error(fmt::format("{}: offset {}: cannot go on", path_, kept_bytes), errno);
  }
}

void OutputFile::append(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) flush();
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void OutputFile::flush() {
  write_at(descriptor_, path_, written_, buffer_);
  written_ += std::ssize(buffer_);
  buffer_.clear();
}

void OutputFile::finish() {
  flush();
  if (::fsync(descriptor_.get()) != 0) throw base::system_error(path_ + ": fsync failed", errno);
  // Only a hint: a file system that ignores it still reads back correctly.
  ::posix_fadvise(descriptor_.get(), 0, 0, POSIX_FADV_DONTNEED);
}

void write_at(const base::Descriptor& file, const std::string& shown, std::int64_t offset,
              std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(file.get(), bytes.data(), bytes.size(), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      throw base::system_error(fmt::format("{}: offset {}: write failed", shown, offset), errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += put;
  }
}

void sync_folder(const std::string& directory) {
  const base::Descriptor folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems refuse fsync on folders with EINVAL; their renames are ordered anyway.
  if (!folder || (::fsync(folder.get()) != 0 && errno != EINVAL)) {
    throw base::system_error(directory + ": fsync failed", errno);
  }
}

}  // namespace staging
