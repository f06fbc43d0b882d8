// An _exit() that waits for the run's end. Libraries find it before that of libc, as the linker
// exports a program's symbol that a shared library refers to.
#include "runner/lost_launcher.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "runner/stop_signals.h"

namespace runner {
namespace {

/// With this status Open MPI ends a rank that has lost its connection to the launcher
/// (PMIX_ERR_LOST_CONNECTION of PMIx).
constexpr int kLostConnection = -61;
/// As long as schedulers usually wait between SIGTERM and SIGKILL.
constexpr std::chrono::seconds kMostWait(30);
constexpr std::chrono::milliseconds kBetweenLooks(5);

// _exit() can only access static storage.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
/// The process that waits for the run's end, and the thread that must not; 0: none.
std::atomic<pid_t> waiting_process{0};
std::atomic<pthread_t> running_thread{};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

bool is_waited_for() { return waiting_process.load() == ::getpid(); }

void wait_for_the_runs_end() {
  if (!is_waited_for() || ::pthread_equal(running_thread.load(), ::pthread_self()) != 0) return;
  tell_of_lost_launcher();
  const auto until = std::chrono::steady_clock::now() + kMostWait;
  while (is_waited_for() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace

LostLauncher::LostLauncher() {
  running_thread.store(::pthread_self());
  waiting_process.store(::getpid());
}
LostLauncher::~LostLauncher() { waiting_process.store(0); }

}  // namespace runner

// NOLINTNEXTLINE(bugprone-reserved-identifier): the one of libc, which is replaced
extern "C" [[noreturn, gnu::visibility("default")]] void _exit(int status) {
  if (status == runner::kLostConnection) runner::wait_for_the_runs_end();
  while (true) ::syscall(SYS_exit_group, status);
}
