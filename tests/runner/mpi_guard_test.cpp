// Tests of the time limit on MPI's start and end.
#include "runner/mpi_guard.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "runner/base/content.h"
#include "runner/base/temporary_directory.h"

namespace runner {
namespace {

using testing::HasSubstr;

struct Ended {
  int status = -1;
  std::string err;
};

/// Runs `body` in a child process that exits with 0 afterwards.
Ended in_a_process(const std::function<void()>& body) {
  const base::TemporaryDirectory folder;
  const std::string file = (folder.path() / "err").string();
  const pid_t child = ::fork();
  if (child == 0) {
    if (std::freopen(file.c_str(), "w", stderr) == nullptr) ::_exit(1);
    body();
    ::_exit(0);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return {};
  return {WEXITSTATUS(status), base::content(file)};
}

launch::Launcher alone() { return {}; }
launch::Launcher rank_0_of_4() {
  launch::Launcher launcher;
  launcher.kind = launch::LauncherKind::kPmix;
  launcher.ranks = 4;
  return launcher;
}

TEST(MpiGuard, EndsAProcessWhoseMpiDoesNotStart) {
  const Ended ended = in_a_process([] {
    const MpiGuard guard(MpiPhase::kStart, alone(), 0.2);
    for (;;) ::pause();
  });
  EXPECT_EQ(ended.status, 4);
  EXPECT_THAT(ended.err,
              HasSubstr("trainmark: MPI's start has taken more than 0.2 s: trainmark doctor "));
  EXPECT_THAT(ended.err, HasSubstr("The limit is --mpi-timeout."));
}

TEST(MpiGuard, SaysThatRanksAreMissing) {
  const Ended ended = in_a_process([] {
    const MpiGuard guard(MpiPhase::kEnd, rank_0_of_4(), 0.2);
    for (;;) ::pause();
  });
  EXPECT_EQ(ended.status, 4);
  EXPECT_THAT(ended.err, testing::ContainsRegex("^rank 0 \\(host [^)]+\\): MPI's end has taken "
                                                "more than 0.2 s, as not all 4 ranks have come: "));
}

TEST(MpiGuard, IsOverWithItsScope) {
  const Ended ended = in_a_process([] {
    { const MpiGuard guard(MpiPhase::kStart, alone(), 0.2); }
    ::usleep(600000);
  });
  EXPECT_EQ(ended.status, 0) << ended.err;
}

TEST(MpiGuard, HasNoLimitOfZero) {
  const Ended ended = in_a_process([] {
    const MpiGuard guard(MpiPhase::kStart, alone(), 0.0);
    ::usleep(300000);
  });
  EXPECT_EQ(ended.status, 0) << ended.err;
}

}  // namespace
}  // namespace runner
