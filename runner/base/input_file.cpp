// Reads files that others wrote.
#include "runner/base/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/printable.h"

namespace base {
namespace {

std::string failure_text(const char* what, int error) { return system_error(what, error).what(); }

/// An open regular file and its size; empty, with `problem` set, if it is none.
Descriptor open_regular(const std::string& path, std::int64_t& size, std::string& problem) {
  Descriptor file = open_to_read(path);
  struct stat facts {};
  if (!file) {
    problem = failure_text("cannot open", errno);
  } else if (::fstat(file.get(), &facts) != 0) {
    problem = failure_text("cannot be examined", errno);
  } else if (!S_ISREG(facts.st_mode)) {
    problem = fmt::format("expected a regular file, found {}", kind_in_words(facts.st_mode));
  }
  size = facts.st_size;
  return problem.empty() ? std::move(file) : Descriptor(-1);
}

/// Bytes read, 0 at the end, -1 with errno set.
ssize_t read_some(int file, char* to, std::size_t bytes) {
  ssize_t got = 0;
  do {
    got = ::read(file, to, bytes);
  } while (got < 0 && errno == EINTR);
  return got;
}

Descriptor open_or_throw(const std::string& path) {
  std::int64_t size = 0;
  std::string problem;
  Descriptor file = open_regular(path, size, problem);
  if (!problem.empty()) throw SystemError(path + ": " + problem);
  return file;
}

}  // namespace

const char* kind_in_words(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

Descriptor open_to_read(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY;
  const int file = ::open(path.c_str(), kFlags | O_NONBLOCK);
  return Descriptor(file < 0 && errno == EWOULDBLOCK ? ::open(path.c_str(), kFlags) : file);
}

std::optional<std::string> read_text(const std::string& path, std::string& problem,
                                     std::int64_t most_bytes) {
  std::int64_t size = 0;
  const Descriptor file = open_regular(path, size, problem);
  if (!problem.empty()) return std::nullopt;
  const auto refuse_size = [&](const std::string& found) {
    problem = fmt::format("expected at most {}, found {}", bytes_text(most_bytes), found);
    return std::nullopt;
  };
  if (size > most_bytes) return refuse_size(bytes_text(size));
  std::string text;
  text.reserve(static_cast<std::size_t>(size));
  // Files of /proc have the size 0, and a file may grow: only its end tells its size.
  std::array<char, std::size_t{1} << 16> piece{};
  while (const ssize_t got = read_some(file.get(), piece.data(), piece.size())) {
    if (got < 0) {
      problem = failure_text("cannot be read", errno);
      return std::nullopt;
    }
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (static_cast<std::int64_t>(text.size()) > most_bytes) return refuse_size("more");
  }
  return text;
}

FileBuffer::int_type FileBuffer::underflow() {
  const ssize_t got = read_some(file_.get(), buffer_.data(), buffer_.size());
  if (got < 0) throw system_error(path_ + ": cannot be read", errno);
  setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
  return got == 0 ? traits_type::eof() : traits_type::to_int_type(buffer_.front());
}

FileBuffer::pos_type FileBuffer::seekpos(pos_type position, std::ios_base::openmode) {
  if (::lseek(file_.get(), static_cast<off_t>(position), SEEK_SET) < 0) {
    return pos_type(off_type(-1));
  }
  setg(nullptr, nullptr, nullptr);
  return position;
}

InputFile::InputFile(const std::string& path)
    : std::istream(nullptr), buffer_(open_or_throw(path), path) {
  rdbuf(&buffer_);
  exceptions(std::ios::badbit);  // else the stream would swallow the reason
}

}  // namespace base
