// Positioned, checked reads of a file.
#include "staging/dataset/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/input_file.h"
#include "runner/base/json_fault.h"

namespace dataset {

namespace {

std::int64_t mtime_ns_of(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

/// Enough for the labels of 20 million files.
constexpr std::int64_t kMostLinesBytes = std::int64_t{1} << 30;

/// Marks of other encodings would become part of the first line.
void refuse_other_text(std::string_view text, const std::string& path) {
  if (text.starts_with("\xef\xbb\xbf")) {
    throw base::DataError(path + ": begins with a byte order mark; save it as UTF-8 without one");
  }
  const std::string encoding = base::other_encoding(text);
  if (!encoding.empty()) throw base::DataError(path + ": expected UTF-8, found " + encoding);
}

}  // namespace

File::File(std::string path) : path_(std::move(path)), descriptor_(base::open_to_read(path_)) {
  if (!descriptor_) {
    throw base::DataError(fmt::format("{}: cannot be opened: {}", path_, std::strerror(errno)));
  }
  struct stat status {};
  if (::fstat(descriptor_.get(), &status) != 0) {
    throw base::DataError(fmt::format("{}: cannot be examined: {}", path_, std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    throw base::DataError(fmt::format("{}: expected a regular file", path_));
  }
  ::fcntl(descriptor_.get(), F_SETFL, O_RDONLY);  // where files may be on tape, reads shall wait
  size_ = status.st_size;
  mtime_ns_ = mtime_ns_of(status);
}

bool File::has_changed() const {
  struct stat status {};
  return ::fstat(descriptor_.get(), &status) == 0 &&
         (status.st_size != size_ || mtime_ns_of(status) != mtime_ns_);
}

std::int64_t File::read_some(std::int64_t offset, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::pread(descriptor_.get(), out.data() + done, out.size() - done,
                                offset + static_cast<std::int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw base::DataError(fmt::format("{}: offset {}: read failed: {}", path_,
                                        offset + static_cast<std::int64_t>(done),
                                        std::strerror(errno)));
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<std::int64_t>(done);
}

void File::read(std::int64_t offset, std::span<std::byte> out) const {
  const std::int64_t got = read_some(offset, out);
  if (got != static_cast<std::int64_t>(out.size())) {
    throw base::DataError(fmt::format("{}: offset {}: expected {} bytes, the file ends after {}",
                                      path_, offset, out.size(), got));
  }
}

std::vector<std::byte> read_rest(const File& file, std::span<const std::byte> head) {
  std::vector<std::byte> bytes(head.begin(), head.end());
  bytes.resize(std::max(head.size(), static_cast<std::size_t>(file.size())));
  file.read(std::ssize(head), std::span(bytes).subspan(head.size()));
  return bytes;
}

std::string change_remark(const std::string& path) {
  return path +
         ": changed while it was used: size or time of modification differ from those at an "
         "earlier reading, so samples of both versions may have been used";
}

FileStamp stamp_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw base::DataError(fmt::format("{}: cannot be examined: {}", path, std::strerror(errno)));
  }
  return {status.st_size, mtime_ns_of(status)};
}

std::vector<std::string> read_lines(const std::string& path) {
  std::string problem;
  std::optional<std::string> text = base::read_text(path, problem, kMostLinesBytes);
  if (!text) throw base::DataError(path + ": " + problem);
  refuse_other_text(*text, path);
  std::istringstream in(*std::move(text));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace dataset
