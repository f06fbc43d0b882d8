// Measures a folder's storage with a file that has no name.
#include "staging/folder_speed.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "runner/base/descriptor.h"
#include "runner/base/error.h"

namespace staging {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;

/// Seconds since `begin_ns`; never 0, so that rates are finite.
double elapsed_s(const base::Clock& clock, std::int64_t begin_ns) {
  return static_cast<double>(std::max<std::int64_t>(clock.steady_ns() - begin_ns, 1)) * 1e-9;
}

base::Descriptor nameless_file(const std::string& folder) {
  base::Descriptor file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file || errno == EACCES || errno == EROFS || errno == ENOSPC || errno == EDQUOT) return file;
  // The file system may not know O_TMPFILE.
  std::string path = folder + "/.trainmark-speed-XXXXXX";
  base::Descriptor named(::mkostemp(path.data(), O_CLOEXEC));
  if (named) ::unlink(path.c_str());
  return named;
}

/// Bytes that no storage compresses.
std::vector<std::byte> random_block() {
  std::vector<std::byte> block(kBlock);
  std::uint64_t state = 88172645463325252U;  // xorshift, Marsaglia 2003
  for (std::byte& byte : block) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    byte = static_cast<std::byte>(state);
  }
  return block;
}

bool is_full(int error_number) { return error_number == ENOSPC || error_number == EDQUOT; }

/// Calls `work` for block after block; it returns the bytes done, or -1 with errno set. Returns how
/// many bytes were done; nullopt on a full disk.
template <class Work>
std::optional<std::int64_t> each_block(const std::string& what, const ProbeLimits& limits,
                                       const base::Clock& clock, const Work& work) {
  const std::int64_t begin_ns = clock.steady_ns();
  std::int64_t done = 0;
  while (done < limits.bytes && (done == 0 || elapsed_s(clock, begin_ns) < limits.seconds)) {
    const ssize_t bytes = work(done);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && is_full(errno)) return std::nullopt;
    if (bytes < 0) throw base::system_error(what, errno);
    if (bytes == 0) break;
    done += bytes;
  }
  return done;
}

}  // namespace

FolderSpeed measure_folder(const std::string& folder, const ProbeLimits& limits,
                           const base::Clock& clock) {
  const base::Descriptor file = nameless_file(folder);
  if (!file && is_full(errno)) return {};
  if (!file) {
    throw base::system_error(folder + ": no file can be created to measure its speed", errno);
  }
  std::vector<std::byte> block = random_block();
  const std::int64_t write_ns = clock.steady_ns();
  constexpr std::int64_t kSyncEach = 8;  // so that a slow disk is noticed before it is given all
  const auto written = each_block(
      folder + ": writing to measure its speed", limits, clock, [&](std::int64_t at) -> ssize_t {
        const ssize_t bytes = ::pwrite(file.get(), block.data(), block.size(), at);
        const bool is_due = (at / std::ssize(block) + 1) % kSyncEach == 0;
        return bytes > 0 && is_due && ::fdatasync(file.get()) != 0 ? -1 : bytes;
      });
  if (!written) return {};
  if (::fdatasync(file.get()) != 0) {
    if (is_full(errno)) return {};
    throw base::system_error(folder + ": writing to measure its speed", errno);
  }
  FolderSpeed speed;
  speed.bytes = *written;
  speed.write_bytes_per_s = static_cast<double>(*written) / elapsed_s(clock, write_ns);
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  const std::int64_t read_ns = clock.steady_ns();
  const auto read = each_block(folder + ": reading to measure its speed",
                               {*written, limits.seconds}, clock, [&](std::int64_t at) -> ssize_t {
                                 return ::pread(file.get(), block.data(), block.size(), at);
                               });
  if (!read) return {};
  speed.read_bytes_per_s = static_cast<double>(*read) / elapsed_s(clock, read_ns);
  return speed;
}

}  // namespace staging
