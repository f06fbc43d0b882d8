// Measures the rate of a folder's disk.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>

#include "runner/base/clock.h"
#include "runner/base/descriptor.h"
#include "runner/base/error.h"
#include "runner/doctor/folder_checks.h"
#include "runner/doctor/rates.h"

namespace doctor {
namespace {

constexpr std::int64_t kMostFileBytes = std::int64_t{64} << 20;
constexpr std::size_t kDiskBlock = std::size_t{1} << 20;
constexpr std::size_t kAlignment = 4096;
constexpr double kLongestWriteS = 2.0;

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

/// A block of incompressible bytes, aligned for O_DIRECT.
std::unique_ptr<std::byte, Free> make_piece() {
  std::unique_ptr<std::byte, Free> piece(
      static_cast<std::byte*>(std::aligned_alloc(kAlignment, kDiskBlock)));
  if (!piece) throw base::SystemError("disk rate: no memory for a piece of 1 MiB");
  std::uint64_t state = 88172645463325252U;  // xorshift, Marsaglia 2003
  for (std::size_t i = 0; i < kDiskBlock; ++i) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    piece.get()[i] = static_cast<std::byte>(state);
  }
  return piece;
}

double seconds_since(std::int64_t begin_ns) {
  const base::SystemClock clock;
  return static_cast<double>(std::max<std::int64_t>(clock.steady_ns() - begin_ns, 1)) / 1e9;
}

}  // namespace

DiskRates measure_disk(const std::string& folder) {
  const auto fail = [&](const char* call) {
    return base::system_error(folder + ": " + call, errno);
  };
  const Volume volume = volume_of(folder);
  std::string path = folder + "/.trainmark-doctor-XXXXXX";
  const base::Descriptor file(::mkstemp(path.data()));
  if (!file) throw fail("mkstemp");
  ::unlink(path.c_str());
  const auto piece = make_piece();
  const std::int64_t most = std::min(kMostFileBytes, volume.free_bytes / 10);
  const base::SystemClock clock;
  DiskRates rates;
  rates.is_in_memory = volume.is_in_memory;
  const std::int64_t write_ns = clock.steady_ns();
  while (rates.bytes + static_cast<std::int64_t>(kDiskBlock) <= most &&
         (rates.bytes == 0 || seconds_since(write_ns) < kLongestWriteS)) {
    if (::write(file.get(), piece.get(), kDiskBlock) != static_cast<ssize_t>(kDiskBlock))
      throw fail("write");
    rates.bytes += static_cast<std::int64_t>(kDiskBlock);
  }
  if (rates.bytes == 0) {
    throw base::SystemError(folder + ": too little space to measure its disk");
  }
  if (::fsync(file.get()) != 0) throw fail("fsync");
  rates.write_bytes_per_s = static_cast<double>(rates.bytes) / seconds_since(write_ns);
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  // If the file system lacks O_DIRECT, posix_fadvise must suffice.
  const int flags = ::fcntl(file.get(), F_GETFL);
  ::fcntl(file.get(), F_SETFL, flags | O_DIRECT);
  const std::int64_t read_ns = clock.steady_ns();
  for (std::int64_t at = 0; at < rates.bytes; at += static_cast<std::int64_t>(kDiskBlock)) {
    if (::pread(file.get(), piece.get(), kDiskBlock, at) != static_cast<ssize_t>(kDiskBlock)) {
      throw fail("pread");
    }
  }
  rates.read_bytes_per_s = static_cast<double>(rates.bytes) / seconds_since(read_ns);
  return rates;
}

}  // namespace doctor
