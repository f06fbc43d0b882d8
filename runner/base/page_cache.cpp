// Looks at pages with mincore and with reads that do not wait.
#include "runner/base/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "runner/base/ceil_div.h"
#include "runner/base/descriptor.h"

namespace base {
namespace {

/// Of larger files mincore looks at windows.
constexpr std::int64_t kLookedAtWhole = std::int64_t{64} << 20;
constexpr std::int64_t kWindow = std::int64_t{1} << 20, kWindows = kLookedAtWhole / kWindow;
/// A read that does not wait costs a page of storage's time where the page is not there.
constexpr std::int64_t kBytesPerRead = std::int64_t{16} << 20;
constexpr std::int64_t kFewestReads = 2, kMostReads = 1024;

std::int64_t page_bytes() {
  static const std::int64_t bytes = ::sysconf(_SC_PAGESIZE);
  return bytes;
}

Descriptor open_to_look(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

/// Starts of `count` parts, on pages, evenly spread over a file; each in the middle of its stretch.
std::vector<std::int64_t> spread_evenly(std::int64_t bytes, std::int64_t part, std::int64_t count) {
  std::vector<std::int64_t> starts;
  const double stretch = static_cast<double>(bytes) / static_cast<double>(count);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto middle = static_cast<std::int64_t>((static_cast<double>(i) + 0.5) * stretch);
    const std::int64_t last = std::max<std::int64_t>(bytes - part, 0);
    starts.push_back(std::clamp<std::int64_t>(middle - part / 2, 0, last) / page_bytes() *
                     page_bytes());
  }
  return starts;
}

struct Counted {
  std::int64_t pages = 0, warm = 0;
};

/// Adds the pages of a part of a file. Returns false if the kernel does not tell.
bool count_pages(int file, std::int64_t start, std::int64_t length, Counted& counted) {
  const auto size = static_cast<std::size_t>(length);
  void* const map = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, start);
  if (map == MAP_FAILED) return false;
  std::vector<unsigned char> pages(static_cast<std::size_t>(ceil_div(length, page_bytes())));
  const int failed = ::mincore(map, size, pages.data());
  ::munmap(map, size);
  if (failed != 0) return false;
  counted.pages += static_cast<std::int64_t>(pages.size());
  for (const unsigned char flags : pages) counted.warm += flags & 1U;
  return true;
}

FilePages pages_of(LookedBy by, std::int64_t bytes, const Counted& counted) {
  const double share = static_cast<double>(counted.warm) / static_cast<double>(counted.pages);
  return {by, bytes, std::min(bytes, counted.pages * page_bytes()),
          static_cast<std::int64_t>(share * static_cast<double>(bytes))};
}

FilePages look_by_mincore(int file, std::int64_t bytes) {
  Counted counted;
  bool told = true;
  if (bytes <= kLookedAtWhole) {
    told = count_pages(file, 0, bytes, counted);
  } else {
    for (const std::int64_t start : spread_evenly(bytes, kWindow, kWindows)) {
      told = told && count_pages(file, start, kWindow, counted);
    }
  }
  if (!told) return {LookedBy::kUnsupported, bytes};
  return pages_of(LookedBy::kMincore, bytes, counted);
}

}  // namespace

PageCalls system_page_calls() {
  return {[](const std::string& path, const struct ::stat& found) {
            return found.st_uid == ::geteuid() ||
                   ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
          },
          [](int file, std::int64_t offset) -> std::int64_t {
            char byte = 0;
            const iovec one{&byte, 1};
            return ::preadv2(file, &one, 1, offset, RWF_NOWAIT);
          }};
}

PageLook::PageLook(Probes probes, std::int64_t most_reads, PageCalls calls)
    : probes_(probes), reads_left_(most_reads), calls_(std::move(calls)) {}

FilePages PageLook::look(const std::string& path) {
  const Descriptor file = open_to_look(path);
  struct ::stat found {};
  if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  if (found.st_size == 0) return {LookedBy::kMincore};
  if (calls_.may_ask_mincore(path, found)) return look_by_mincore(file.get(), found.st_size);
  if (probes_ == Probes::kWithoutReading) return {LookedBy::kForeign, found.st_size};
  return look_by_reading(path, file.get(), found.st_size);
}

FilePages PageLook::look_by_reading(const std::string& path, int file, std::int64_t bytes) {
  // Without it the kernel would fetch more than the page that is asked for.
  ::posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
  const std::int64_t reads = std::min({std::clamp(bytes / kBytesPerRead, kFewestReads, kMostReads),
                                       ceil_div(bytes, page_bytes()), reads_left_});
  reads_left_ -= reads;
  Counted counted;
  std::vector<std::int64_t> fetched;
  for (const std::int64_t start : spread_evenly(bytes, 1, reads)) {
    const std::int64_t got = calls_.read_without_waiting(file, start);
    if (got < 0 && errno != EAGAIN) break;
    ++counted.pages;
    if (got > 0) {
      ++counted.warm;
    } else {
      fetched.push_back(start);
    }
  }
  if (!fetched.empty()) fetched_.emplace_back(path, std::move(fetched));
  if (reads == 0 || counted.pages < reads) return {LookedBy::kUnsupported, bytes};
  return pages_of(LookedBy::kReading, bytes, counted);
}

void PageLook::undo() {
  for (const auto& [path, offsets] : fetched_) {
    const Descriptor file = open_to_look(path);
    if (!file) continue;
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_RANDOM);
    for (const std::int64_t offset : offsets) {
      char byte = 0;
      if (::pread(file.get(), &byte, 1, offset) != 1) break;
      ::posix_fadvise(file.get(), offset, page_bytes(), POSIX_FADV_DONTNEED);
    }
  }
  fetched_.clear();
}

void advise_out(const std::string& path) {
  const Descriptor file = open_to_look(path);
  if (file) ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
}

void write_out_near(const std::string& path) {
  const Descriptor file = open_to_look(path);
  if (file) ::syncfs(file.get());
}

}  // namespace base
