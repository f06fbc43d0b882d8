// How much of a file is in the page cache, found without leaving more of it there.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace base {

/// mincore() reads nothing of a file, but the kernel answers it only for files that the caller owns
/// or may write: of others it calls every page resident. For those a read that does not wait
/// (RWF_NOWAIT) tells whether a page is there.
enum class Probes { kWithoutReading, kAlsoReading };

/// How a file was looked at, or why it was not.
enum class LookedBy {
  kMincore,
  kReading,      ///< reads that do not wait
  kUnreadable,   ///< not: it cannot be opened, or is no regular file
  kForeign,      ///< not: it would have to be read
  kUnsupported,  ///< not: its file system has no reads that do not wait
};
inline constexpr int kLookedByCount = 5;

/// What was found of a file. It is empty if no page was looked at.
struct FilePages {
  LookedBy by = LookedBy::kUnreadable;
  std::int64_t bytes = 0;            ///< of the file
  std::int64_t looked_at_bytes = 0;  ///< of the pages that were looked at, spread evenly
  std::int64_t warm_bytes = 0;       ///< of the file, if its other pages are as those looked at
};

/// The questions to the kernel, which tests replace.
struct PageCalls {
  /// Whether mincore() tells the truth about a file.
  std::function<bool(const std::string& path, const struct ::stat& found)> may_ask_mincore;
  /// Reads a byte without waiting: 1, or -1 with errno EAGAIN if its page is not there.
  std::function<std::int64_t(int file, std::int64_t offset)> read_without_waiting;
};
PageCalls system_page_calls();

class PageLook {
 public:
  /// `most_reads`: upper limit on the reads that do not wait, each of which may cost the storage
  /// one.
  PageLook(Probes probes, std::int64_t most_reads, PageCalls calls = system_page_calls());
  /// Never throws for a file. Call it no more once may_go_on() is false.
  FilePages look(const std::string& path);
  bool may_go_on() const { return reads_left_ > 0; }
  /// A read that does not wait has the kernel fetch the page that is not there. Waits for those
  /// pages, as pages on their way cannot be dropped, and advises them out again.
  void undo();

 private:
  FilePages look_by_reading(const std::string& path, int file, std::int64_t bytes);

  Probes probes_;
  std::int64_t reads_left_;
  PageCalls calls_;
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> fetched_;  ///< offsets by path
};

/// Asks the kernel to drop the pages of a file (POSIX_FADV_DONTNEED), which needs no right but to
/// read it. It keeps those that are dirty, or that a process has mapped. Never throws.
void advise_out(const std::string& path);

/// Writes out what is dirty on the file system of `path`, so that it can be dropped.
void write_out_near(const std::string& path);

}  // namespace base
