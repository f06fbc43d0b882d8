// Creation of a file by exactly one process.
#include "runner/base/exclusive_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "runner/base/descriptor.h"
#include "runner/base/error.h"
#include "runner/base/input_file.h"
#include "runner/base/system_facts.h"

namespace base {
namespace {

void write_whole(int file, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(file, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) throw system_error(path + ": cannot be written", errno);
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  if (::fsync(file) != 0) throw system_error(path + ": cannot be written", errno);
}

/// A complete file whose name no other thread, process or host uses; removed by the destructor.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& path, std::string_view content)
      : path_(path + ".new." + unique_token()),
        file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
    if (!file_) throw system_error(path + ": cannot be created", errno);
    try {
      write_whole(file_.get(), path, content);
    } catch (...) {
      ::unlink(path_.c_str());
      throw;
    }
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const char* path() const { return path_.c_str(); }
  bool is_linked() const {
    struct stat facts {};
    return ::fstat(file_.get(), &facts) == 0 && facts.st_nlink == 2;
  }

 private:
  std::string path_;
  Descriptor file_;
};

bool has_no_links(int error) {
  return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK;
}

}  // namespace

std::optional<std::string> read_created(const std::string& path) {
  constexpr int kLooks = 50, kAtOnce = 4;
  constexpr auto kBetween = std::chrono::milliseconds(20);
  std::string text, problem;
  for (int look = 0; look < kLooks; ++look) {
    problem.clear();
    auto read = read_text(path, problem);
    if (read) {
      text = *std::move(read);
      if (text.ends_with('\n')) return text;
    } else if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
      return std::nullopt;
    } else if (look < kAtOnce) {
      continue;  // it may have come between the two calls
    }
    std::this_thread::sleep_for(kBetween);
  }
  if (!problem.empty()) throw SystemError(path + ": " + problem);
  return text;
}

std::string unique_token() {
  std::random_device device;
  const unsigned high = device(), low = device();
  return fmt::format("{}.{}.{:08x}{:08x}", host_name(), ::getpid(), high, low);
}

bool create_with_o_excl(const std::string& path, std::string_view content) {
  {
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file) {
      if (errno == EEXIST) return false;
      throw system_error(path + ": cannot be created", errno);
    }
    write_whole(file.get(), path, content);
  }
  std::string problem;
  return read_text(path, problem) == content;
}

bool create_exclusively(const std::string& path, std::string_view content) {
  const TemporaryFile file(path, content);
  if (::link(file.path(), path.c_str()) == 0) return true;
  const int error = errno;
  // The server may have made the link although its reply was lost and the retry failed.
  if (file.is_linked()) return true;
  if (error == EEXIST) return false;
  if (has_no_links(error)) return create_with_o_excl(path, content);
  throw system_error(path + ": cannot be created", error);
}

}  // namespace base
