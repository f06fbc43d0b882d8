// Tests of which run may write to a folder of checkpoints.
#include "runner/folder_lock.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "runner/base/error.h"
#include "runner/base/process_state.h"
#include "runner/base/refused_locks.h"
#include "runner/base/system_facts.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace runner {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FolderLockTest : public testing::Test {
 protected:
  /// Another process takes the folder and dies; its record in the lock file stays. `host` is the
  /// host that the record names.
  void die_with_it(const std::string& host) const {
    const pid_t child = ::fork();
    if (child == 0) {
      FolderOwner other;
      const auto lock = FolderLock::take(folder(), {host, ::getpid(), live()}, other);
      ::_exit(lock ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    ASSERT_TRUE(fs::exists(folder() + "/owner.lock"));
  }
  std::unique_ptr<FolderLock> take(double patience_s = 0.6) {
    return FolderLock::take(folder(), mine(), other_, patience_s);
  }
  FolderOwner mine() const { return {base::host_name(), ::getpid(), ""}; }
  std::string folder() const { return (directory_.path() / "saved").string(); }
  std::string live() const { return (directory_.path() / "result_1.live.json").string(); }
  /// Replaces the file atomically, as a run does.
  void show_life(int beat) const {
    std::ofstream(live() + ".new") << beat;
    fs::rename(live() + ".new", live());
  }

  const base::TemporaryDirectory directory_;
  FolderOwner other_;
};

TEST_F(FolderLockTest, IsForOneRunAndGoesWithIt) {
  auto first = take();
  ASSERT_NE(first, nullptr);
  first->require_ours();
  EXPECT_EQ(take(), nullptr);
  EXPECT_EQ(other_.process, ::getpid());
  EXPECT_EQ(to_string(other_),
            "process " + std::to_string(::getpid()) + " on host " + base::host_name());
  first.reset();
  EXPECT_TRUE(fs::is_empty(folder()));
  EXPECT_NE(take(), nullptr);
}

TEST_F(FolderLockTest, IsLookedAtWithoutBeingTaken) {
  EXPECT_FALSE(FolderLock::live_owner(folder()));
  EXPECT_FALSE(fs::exists(folder()));
  auto lock = take();
  ASSERT_NE(lock, nullptr);
  const auto owner = FolderLock::live_owner(folder());
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->process, ::getpid());
  lock->require_ours();
  lock.reset();
  die_with_it(base::host_name());
  EXPECT_FALSE(FolderLock::live_owner(folder(), 0.6));
}

TEST_F(FolderLockTest, IsHeldByAnotherProcessUntilThatIsKilled) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    FolderOwner other;
    const auto lock = FolderLock::take(folder(), {base::host_name(), ::getpid(), live()}, other);
    [[maybe_unused]] const auto written = ::write(ready[1], lock ? "y" : "n", 1);
    for (;;) ::pause();
  }
  char answer = ' ';
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  EXPECT_EQ(take(), nullptr);
  EXPECT_EQ(other_.process, child);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  show_life(1);                    // the live file that a killed run leaves
  EXPECT_NE(take(60.0), nullptr);  // at once
}

TEST_F(FolderLockTest, IsNotTakenFromALivingRunOfAnotherHost) {
  show_life(0);
  die_with_it("elsewhere");  // as on a file system whose locks work within one host only
  std::jthread living([this](const std::stop_token& stop) {
    for (int beat = 1; !stop.stop_requested(); ++beat) {
      show_life(beat);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  EXPECT_EQ(take(60.0), nullptr);
  EXPECT_EQ(other_.host, "elsewhere");
}

TEST_F(FolderLockTest, IsTakenFromADeadRunOfAnotherHost) {
  show_life(0);
  die_with_it("elsewhere");
  EXPECT_NE(take(), nullptr);
}

TEST_F(FolderLockTest, IsTakenWhereTheServerStillHoldsADeadHostsLock) {
  show_life(0);
  FolderOwner other;
  // The lock stays, as that of a host without power, but there is no sign of life.
  auto dead = FolderLock::take(folder(), {"elsewhere", 1, live()}, other);
  ASSERT_NE(dead, nullptr);
  dead->require_ours();
  const auto ours = take();
  ASSERT_NE(ours, nullptr);
  EXPECT_THAT(base::thrown_message<base::SystemError>([&] { dead->require_ours(); }),
              HasSubstr("another one took it"));
  dead.reset();  // leaves our lock in place
  ours->require_ours();
}

TEST_F(FolderLockTest, IsTakenFromAZombieWhereTheFileSystemHasNoLocks) {
  enum Answer { kRight, kNoFilter, kTakenFromTheLiving, kNotTakenFromAZombie };
  // In a separate process, as a filter of system calls cannot be removed.
  const pid_t judge = ::fork();
  if (judge == 0) {
    if (!base::refuse_locks()) ::_exit(kNoFilter);
    int lives[2];
    if (::pipe(lives) != 0) ::_exit(kNoFilter);
    const pid_t owner = ::fork();
    if (owner == 0) {
      FolderOwner other;
      const auto lock = FolderLock::take(folder(), {base::host_name(), ::getpid(), live()}, other);
      [[maybe_unused]] const auto written = ::write(lives[1], lock ? "y" : "n", 1);
      ::pause();
    }
    char answer = 'n';
    if (::read(lives[0], &answer, 1) != 1 || answer != 'y') ::_exit(kNoFilter);
    const bool is_taken_early = take() != nullptr;
    ::kill(owner, SIGKILL);
    siginfo_t ended{};
    ::waitid(P_PID, static_cast<id_t>(owner), &ended, WEXITED | WNOWAIT);
    if (is_taken_early) ::_exit(kTakenFromTheLiving);
    ::_exit(take() == nullptr ? kNotTakenFromAZombie : kRight);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(judge, &status, 0), judge);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoFilter) GTEST_SKIP() << "system calls cannot be filtered here";
  EXPECT_EQ(WEXITSTATUS(status), kRight);
}

/// Whether `owner`, whose record is in the folder, keeps others out where the file system has no
/// locks; nothing if system calls cannot be filtered here.
std::optional<bool> keeps_out_without_locks(const std::string& folder, const FolderOwner& owner) {
  enum Answer { kKeptOut, kTaken, kNoFilter };
  const pid_t judge = ::fork();
  if (judge == 0) {
    if (!base::refuse_locks()) ::_exit(kNoFilter);
    FolderOwner other;
    auto first = FolderLock::take(folder, owner, other, 0.1);
    if (first == nullptr) ::_exit(kNoFilter);
    FolderLock::take(folder, {base::host_name(), ::getpid(), ""}, other, 0.1) ? ::_exit(kTaken)
                                                                              : ::_exit(kKeptOut);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(judge, &status, 0), judge);
  if (WEXITSTATUS(status) == kNoFilter) return std::nullopt;
  return WEXITSTATUS(status) == kKeptOut;
}

TEST_F(FolderLockTest, KnowsItsRunByStartAndNamespaceWhereThereAreNoLocks) {
  const base::ProcessIdentity living = base::this_process_identity();
  const auto owner = [&](std::uint64_t start, const std::string& kernel) {
    return FolderOwner{base::host_name(), living.number, "", start, kernel};
  };
  const auto same = keeps_out_without_locks(folder(), owner(living.start_ticks, living.kernel));
  if (!same) GTEST_SKIP() << "system calls cannot be filtered here";
  EXPECT_TRUE(*same);
  EXPECT_FALSE(*keeps_out_without_locks(folder(), owner(living.start_ticks + 1, living.kernel)))
      << "the number was given to another process";
  const std::string container = living.kernel.substr(0, living.kernel.find(' ')) + " pid:[1]";
  EXPECT_FALSE(*keeps_out_without_locks(folder(), owner(living.start_ticks, container)))
      << "a process of another container, which gives no sign of life";
}

TEST_F(FolderLockTest, FollowsNoLinkAndWaitsForNoPipe) {
  fs::create_directories(folder());
  const std::string precious = directory_.write("thesis.txt", "years of work");
  fs::create_symlink(precious, folder() + "/owner.lock");
  EXPECT_EQ(base::thrown_message<base::SystemError>([&] { take(); }),
            folder() + "/owner.lock: cannot be opened: Too many levels of symbolic links");
  EXPECT_EQ(fs::file_size(precious), 13U);
  fs::remove(folder() + "/owner.lock");
  ASSERT_EQ(::mkfifo((folder() + "/owner.lock").c_str(), 0600), 0);
  EXPECT_FALSE(FolderLock::live_owner(folder()));
}

TEST_F(FolderLockTest, ReadsTheRecordOfAnEarlierVersion) {
  fs::create_directories(folder());
  std::ofstream(folder() + "/owner.lock") << base::host_name() << "\n"
                                          << ::getpid() << "\n\nwhole\n";
  EXPECT_NE(take(), nullptr) << "its lock is gone";
}

TEST_F(FolderLockTest, TellsWhereItsRunShowsLife) {
  const auto lock = take();
  lock->set_live_file("results/result_7.live.json");
  EXPECT_EQ(take(), nullptr);
  EXPECT_EQ(other_.live_file, (fs::current_path() / "results/result_7.live.json").string());
}

TEST_F(FolderLockTest, TakesAFileThatSaysNothing) {
  fs::create_directories(folder());
  std::ofstream(folder() + "/owner.lock") << "half a na";
  EXPECT_NE(take(), nullptr);
}

}  // namespace
}  // namespace runner
