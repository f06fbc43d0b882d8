// Tests of what is visible of a host's ranks before MPI has started.
#include "runner/launch/local_ranks.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <utility>

#include "runner/base/process_state.h"

namespace launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A process with a given environment; killed by the destructor.
class Sleeper {
 public:
  explicit Sleeper(const std::vector<std::string>& environment) {
    std::vector<char*> variables;
    for (const std::string& one : environment) variables.push_back(const_cast<char*>(one.c_str()));
    variables.push_back(nullptr);
    int gone[2];
    if (::pipe2(gone, O_CLOEXEC) != 0) return;
    process = ::fork();
    if (process == 0) {
      ::execle("/bin/sleep", "sleep", "600", nullptr, variables.data());
      ::_exit(127);
    }
    ::close(gone[1]);
    char nothing = 0;
    // Its end of the pipe closes when exec succeeds.
    [[maybe_unused]] const auto end = ::read(gone[0], &nothing, 1);
    ::close(gone[0]);
  }
  ~Sleeper() {
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  void stop() const {
    ::kill(process, SIGSTOP);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(process), &info, WSTOPPED | WNOWAIT);
  }
  pid_t process = 0;
};

/// The name of a job to which no other process of this machine belongs.
std::string job_of(const char* launcher) {
  return std::string("test-") + launcher + "-" + std::to_string(::getpid());
}

TEST(LocalRanks, AreThoseOfTheSamePmixJob) {
  const std::string job = job_of("pmix");
  const Sleeper first({"PMIX_NAMESPACE=" + job, "PMIX_RANK=4"});
  const Sleeper second({"PMIX_NAMESPACE=" + job, "PMIX_RANK=3"});
  const Sleeper stranger({"PMIX_NAMESPACE=" + job + "0", "PMIX_RANK=5"});
  const Sleeper garbage({"PMIX_NAMESPACE=" + job, "PMIX_RANK=five"});
  second.stop();
  const auto ranks = local_ranks({{"PMIX_NAMESPACE", job}, {"PMIX_RANK", "4"}});
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].rank, 3);
  EXPECT_EQ(ranks[0].process, second.process);
  EXPECT_EQ(ranks[0].state, 'T');
  EXPECT_EQ(ranks[1].rank, 4);
  EXPECT_EQ(ranks[1].process, first.process);
  EXPECT_NE(ranks[1].state, 'T');
}

/// A rank's process that waits like one for a device (state D): the parent of a vfork()ed child. It
/// ends when its child has slept. The destructor waits for it.
class DeviceWaiter {
 public:
  DeviceWaiter(const std::string& job, std::chrono::milliseconds time) {
    process = ::fork();
    if (process != 0) return;
    // No exec, which would end the wait: the variables overwrite those that /proc shows.
    const auto [begin, end] = environment_range();
    const std::string variables = "PMIX_NAMESPACE=" + job + '\0' + "PMIX_RANK=0" + '\0';
    if (variables.size() > end - begin) ::_exit(1);
    std::memset(reinterpret_cast<char*>(begin), 0, end - begin);
    std::memcpy(reinterpret_cast<char*>(begin), variables.data(), variables.size());
    const auto microseconds = static_cast<useconds_t>(time.count() * 1000);
    if (::vfork() == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::usleep(microseconds);
      ::_exit(0);
    }
    ::pause();
  }
  ~DeviceWaiter() {
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
  }
  DeviceWaiter(const DeviceWaiter&) = delete;
  DeviceWaiter& operator=(const DeviceWaiter&) = delete;

  /// Waits until both processes have the job's environment and this one waits.
  bool waits() const {
    for (int look = 0; look < 1000; ++look) {
      const auto state = base::process_state(process);
      if (state && state->state == 'D') return true;
      ::usleep(1000);
    }
    return false;
  }
  pid_t process = 0;

 private:
  static std::pair<std::uintptr_t, std::uintptr_t> environment_range() {
    std::ifstream file("/proc/self/stat");
    std::string text;
    std::getline(file, text, ')');
    for (int field = 3; field < 50; ++field) file >> text;
    std::pair<std::uintptr_t, std::uintptr_t> range;
    file >> range.first >> range.second;
    return range;
  }
};

char state_of(const std::vector<LocalRank>& ranks, pid_t process) {
  const auto one = std::ranges::find(ranks, process, &LocalRank::process);
  return one == ranks.end() ? '?' : one->state;
}

TEST(LocalRanks, WaitForADeviceWhereTheWaitLasts) {
  const std::string job = job_of("device");
  const DeviceWaiter rank(job, std::chrono::seconds(60));
  ASSERT_TRUE(rank.waits());
  EXPECT_EQ(state_of(local_ranks({{"PMIX_NAMESPACE", job}, {"PMIX_RANK", "1"}}), rank.process),
            'D');
}

TEST(LocalRanks, DoNotWaitForADeviceWhereTheWaitEndsSoon) {
  const std::string job = job_of("no_device");
  const DeviceWaiter rank(job, std::chrono::milliseconds(100));
  ASSERT_TRUE(rank.waits());
  const char state =
      state_of(local_ranks({{"PMIX_NAMESPACE", job}, {"PMIX_RANK", "1"}}), rank.process);
  EXPECT_TRUE(state == 'S' || state == 'R') << state;
}

TEST(LocalRanks, AreChildrenOfOneDaemonWithoutPmix) {
  const Sleeper child({"PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALNRANKS=2"});
  // Only siblings of this process count, not its children.
  EXPECT_TRUE(
      local_ranks({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}}).empty());
}

Launcher launcher_of_two_here() {
  Launcher launcher;
  launcher.kind = LauncherKind::kMpirun;
  launcher.ranks = 4;
  launcher.local_ranks = 2;
  return launcher;
}

TEST(MissingRanks, AreNamedWhereTheyAreStopped) {
  const auto missing =
      missing_ranks({{0, 11, 'T'}, {1, 12, 'S'}}, launcher_of_two_here(), Environment());
  EXPECT_EQ(missing.here,
            "stopped on this host (by SIGSTOP or a debugger; kill -CONT ends that): rank 0 "
            "(process 11)");
  EXPECT_EQ(missing.speaker, 1);
}

TEST(MissingRanks, AreNamedWhereTheyWaitForADevice) {
  const auto missing =
      missing_ranks({{2, 11, 'S'}, {3, 12, 'D'}}, launcher_of_two_here(), Environment());
  EXPECT_THAT(missing.here,
              HasSubstr("waiting on this host for a disk or a file system: rank 3 (process 12)"));
  EXPECT_EQ(missing.speaker, 2);
}

TEST(MissingRanks, AreCountedWhereTheyHaveNoProcess) {
  const auto missing =
      missing_ranks({{0, 11, 'S'}, {1, 12, 'Z'}}, launcher_of_two_here(), Environment());
  EXPECT_EQ(missing.here, "of the 2 ranks of this host 1 has no process");
}

TEST(MissingRanks, AreNotCountedWhereTheLauncherDoesNotTell) {
  Launcher launcher = launcher_of_two_here();
  launcher.local_ranks = 0;
  EXPECT_EQ(missing_ranks({{0, 11, 'S'}}, launcher, Environment()).here, "");
}

TEST(MissingRanks, AreFewInAMessage) {
  std::vector<LocalRank> ranks;
  for (std::int64_t i = 0; i < 9; ++i) ranks.push_back({i, 100 + i, 'T'});
  const auto missing = missing_ranks(ranks, launcher_of_two_here(), Environment());
  EXPECT_THAT(missing.here, HasSubstr("rank 3 (process 103) and 5 more"));
}

TEST(MissingRanks, AreElsewhereWhereAllOfThisHostAreWell) {
  const std::vector<LocalRank> ranks = {{0, 11, 'S'}, {1, 12, 'R'}};
  const Environment mpirun = {{"OMPI_COMM_WORLD_RANK", "0"},
                              {"OMPI_COMM_WORLD_SIZE", "4"},
                              {"SLURM_STEP_NODELIST", "node2"},  // of mpirun's daemon
                              {"SLURM_JOB_NODELIST", "node[1-2]"}};
  const auto missing = missing_ranks(ranks, launcher_of_two_here(), mpirun);
  EXPECT_EQ(missing.here, "");
  EXPECT_THAT(missing.elsewhere,
              AllOf(HasSubstr("other hosts (node[1-2])"), HasSubstr("trainmark doctor")));
  EXPECT_THAT(missing_ranks(ranks, launcher_of_two_here(), {}).elsewhere,
              Not(HasSubstr("hosts (")));
}

}  // namespace
}  // namespace launch
