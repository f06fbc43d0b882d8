// What is in the page cache, on files of the test's own.
#include "runner/base/page_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

#include "runner/base/descriptor.h"
#include "runner/base/temporary_directory.h"

namespace {

using base::FilePages;
using base::LookedBy;
using base::PageLook;
using base::Probes;

constexpr std::int64_t kBytes = std::int64_t{1} << 20;

FilePages look(const std::string& path, Probes probes = Probes::kWithoutReading,
               base::PageCalls calls = base::system_page_calls()) {
  return PageLook(probes, 1000, std::move(calls)).look(path);
}

/// Calls for files of another user that nobody but him may write.
base::PageCalls foreign() {
  base::PageCalls calls = base::system_page_calls();
  calls.may_ask_mincore = [](const std::string&, const struct ::stat&) { return false; };
  return calls;
}

class PageCache : public testing::Test {
 protected:
  std::string warm_file() const {
    return folder_.write("warm", std::string(static_cast<std::size_t>(kBytes), 'w'));
  }
  std::string cold_file() const {
    const std::string path =
        folder_.write("cold", std::string(static_cast<std::size_t>(kBytes), 'c'));
    base::write_out_near(path);
    base::advise_out(path);
    return path;
  }
  bool is_in_memory() const {
    struct ::statfs found {};
    return ::statfs(folder_.path().c_str(), &found) == 0 && found.f_type == TMPFS_MAGIC;
  }
  /// Whether the file system has reads that do not wait.
  bool reads_without_waiting() const {
    const base::Descriptor file(::open(warm_file().c_str(), O_RDONLY | O_CLOEXEC));
    return base::system_page_calls().read_without_waiting(file.get(), 0) == 1;
  }
  base::TemporaryDirectory folder_;
};

TEST_F(PageCache, HasAFileThatWasJustWritten) {
  const FilePages found = look(warm_file());
  EXPECT_EQ(found.by, LookedBy::kMincore);
  EXPECT_EQ(found.bytes, kBytes);
  EXPECT_EQ(found.looked_at_bytes, kBytes);
  EXPECT_EQ(found.warm_bytes, kBytes);
}

TEST_F(PageCache, LosesAFileThatIsAdvisedOut) {
  if (is_in_memory()) GTEST_SKIP() << "tmpfs keeps its files in memory";
  const FilePages found = look(cold_file());
  EXPECT_EQ(found.looked_at_bytes, kBytes);
  EXPECT_EQ(found.warm_bytes, 0);
}

TEST_F(PageCache, HasTheHalfOfAFileThatWasRead) {
  if (is_in_memory()) GTEST_SKIP() << "tmpfs keeps its files in memory";
  const std::string path = cold_file();
  const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_RANDOM), 0);  // no reading ahead
  std::vector<char> half(static_cast<std::size_t>(kBytes / 2));
  ASSERT_EQ(::pread(file.get(), half.data(), half.size(), 0), kBytes / 2);
  EXPECT_EQ(look(path).warm_bytes, kBytes / 2);
  if (!reads_without_waiting()) return;
  EXPECT_EQ(look(path, Probes::kAlsoReading, foreign()).warm_bytes, kBytes / 2)
      << "of two reads one is answered";
}

TEST_F(PageCache, IsLookedAtInWindowsOfALargeFile) {
  const std::string path = folder_.write("large", "");
  constexpr std::int64_t kLarge = std::int64_t{1} << 30;
  std::filesystem::resize_file(path, kLarge);
  const FilePages found = look(path);
  EXPECT_EQ(found.bytes, kLarge);
  EXPECT_EQ(found.looked_at_bytes, kLarge / 16);
  EXPECT_EQ(found.warm_bytes, 0) << "nobody read it";
}

TEST_F(PageCache, IsNotAskedForFilesOfOthersUnlessTheyMayBeRead) {
  const FilePages found = look(warm_file(), Probes::kWithoutReading, foreign());
  EXPECT_EQ(found.by, LookedBy::kForeign);
  EXPECT_EQ(found.bytes, kBytes);
  EXPECT_EQ(found.looked_at_bytes, 0);
}

TEST_F(PageCache, AnswersReadsThatDoNotWait) {
  if (!reads_without_waiting()) GTEST_SKIP() << "the file system has no reads that do not wait";
  const FilePages found = look(warm_file(), Probes::kAlsoReading, foreign());
  EXPECT_EQ(found.by, LookedBy::kReading);
  EXPECT_EQ(found.warm_bytes, kBytes);
  EXPECT_GT(found.looked_at_bytes, 0);
  EXPECT_LT(found.looked_at_bytes, kBytes) << "of some pages";
}

TEST_F(PageCache, IsLeftAsItWasByReadsThatDoNotWait) {
  if (is_in_memory()) GTEST_SKIP() << "tmpfs keeps its files in memory";
  if (!reads_without_waiting()) GTEST_SKIP() << "the file system has no reads that do not wait";
  const std::string path = cold_file();
  PageLook look_for_pages(Probes::kAlsoReading, 2, foreign());
  EXPECT_EQ(look_for_pages.look(path).warm_bytes, 0);
  EXPECT_FALSE(look_for_pages.may_go_on());
  EXPECT_LE(look(path).warm_bytes, 2 * ::sysconf(_SC_PAGESIZE)) << "nothing is read ahead";
  look_for_pages.undo();
  EXPECT_EQ(look(path).warm_bytes, 0);
}

TEST_F(PageCache, IsUnknownWhereTheFileSystemDoesNotTell) {
  base::PageCalls calls = foreign();
  calls.read_without_waiting = [](int, std::int64_t) {
    errno = EOPNOTSUPP;
    return std::int64_t{-1};
  };
  const FilePages found = look(warm_file(), Probes::kAlsoReading, calls);
  EXPECT_EQ(found.by, LookedBy::kUnsupported);
  EXPECT_EQ(found.looked_at_bytes, 0);
}

TEST_F(PageCache, IsUnknownForWhatIsNoFile) {
  EXPECT_EQ(look((folder_.path() / "nothing").string()).by, LookedBy::kUnreadable);
  EXPECT_EQ(look(folder_.path().string()).by, LookedBy::kUnreadable);
  EXPECT_EQ(look(folder_.write("empty", "")).by, LookedBy::kMincore);
}

/// What a user without rights finds of this user's file: its LookedBy, or 100 if he cannot be one.
int found_by_nobody(const std::string& path, Probes probes, std::int64_t warm_bytes) {
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (::seteuid(kNobody) != 0) ::_exit(100);
    const FilePages found = look(path, probes);
    ::_exit(found.warm_bytes == warm_bytes ? static_cast<int>(found.by) : 99);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(PageCache, OfAFileOfRootIsFoundByReadingOnly) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  if (!reads_without_waiting()) GTEST_SKIP() << "the file system has no reads that do not wait";
  const std::string path = warm_file();
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  EXPECT_EQ(found_by_nobody(path, Probes::kWithoutReading, 0),
            static_cast<int>(LookedBy::kForeign));
  EXPECT_EQ(found_by_nobody(path, Probes::kAlsoReading, kBytes),
            static_cast<int>(LookedBy::kReading));
  if (is_in_memory()) return;
  // Were mincore believed, it would be warm.
  EXPECT_EQ(found_by_nobody(cold_file(), Probes::kAlsoReading, 0),
            static_cast<int>(LookedBy::kReading));
}

}  // namespace
