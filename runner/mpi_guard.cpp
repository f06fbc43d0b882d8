// The waiting thread and its messages.
#include "runner/mpi_guard.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <mutex>
#include <string>
#include <system_error>

#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "runner/blocked_signals.h"
#include "runner/launch/local_ranks.h"
#include "runner/launcher_end.h"
#include "runner/longest_look.h"

namespace runner {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kGuardLookEvery(200);
/// Delays that let the best informed ranks print first. The first rank of a host that lacks a rank
/// prints at once; then follow rank 0, the first ranks of other hosts, and all others.
constexpr double kRootsDelayS = 2.0, kFirstsDelayS = 5.0, kLastDelayS = 8.0;
/// Ranks but 0 look so much later: by then the launcher has ended them if rank 0 has found
/// something, printed it and ended. Who looked just after that would miss rank 0, and say so.
constexpr double kOthersLookDelayS = 0.5;
/// Limit for examining this host's processes, in case a file system does not respond.
constexpr std::chrono::seconds kLookTime(2);

const char* to_string(MpiPhase phase) {
  switch (phase) {
    case MpiPhase::kStart:
      return "start";
    case MpiPhase::kFirstSum:
      return "first sum";
    case MpiPhase::kEnd:
      return "end";
  }
  return "call";
}

class Waiter {
 public:
  Waiter(MpiPhase phase, const launch::Launcher& launcher, double timeout_s)
      : phase_(phase), launcher_(launcher), timeout_s_(timeout_s) {}

  void wait(const std::stop_token& stop) {
    if (!passes(timeout_s_ + (launcher_.rank == 0 ? 0.0 : kOthersLookDelayS), stop)) return;
    const launch::MissingRanks missing = look();
    if (!passes(delay_s(missing), stop)) return;
    if (is_alone()) end("trainmark doctor looks for what keeps MPI from it");
    end(missing.here.empty() ? missing.elsewhere : missing.here);
  }

 private:
  /// Returns true after `seconds`, false if the guard ended before.
  static bool passes(double seconds, const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any bell;
    std::unique_lock lock(mutex);
    auto looked_at = SteadyClock::now();
    for (double passed_s = 0.0; passed_s < seconds;) {
      bell.wait_for(lock, stop, kGuardLookEvery, [] { return false; });
      if (stop.stop_requested()) return false;
      const auto now = SteadyClock::now();
      const std::chrono::duration<double> pause = now - looked_at;
      passed_s += std::min(pause.count(), kLongestLookS);
      looked_at = now;
    }
    return !stop.stop_requested();
  }

  bool is_alone() const { return launcher_.ranks <= 1 && launcher_.rank == 0; }

  double delay_s(const launch::MissingRanks& missing) const {
    const bool is_first_here = launcher_.rank == missing.speaker;
    if (is_alone() || (is_first_here && !missing.here.empty())) return 0.0;
    if (launcher_.rank == 0) return kRootsDelayS;
    return is_first_here ? kFirstsDelayS : kLastDelayS;
  }

  launch::MissingRanks look() const {
    std::packaged_task<launch::MissingRanks()> task([launcher = launcher_] {
      const launch::Environment mine = launch::environment();
      return launch::missing_ranks(launch::local_ranks(mine), launcher, mine);
    });
    auto found = task.get_future();
    std::thread(std::move(task)).detach();
    if (found.wait_for(kLookTime) == std::future_status::ready) return found.get();
    return {"", "look for ranks that are stopped or were not started", launcher_.rank};
  }

  std::string waiting_text() const {
    const std::string who =
        is_alone() ? "" : fmt::format("rank {} (host {}): ", launcher_.rank, base::host_name());
    const std::string all = launcher_.ranks > 1 ? fmt::format("all {}", launcher_.ranks) : "all";
    return fmt::format("{}MPI's {} has taken more than {:.4g} s{}", who, to_string(phase_),
                       timeout_s_,
                       is_alone() ? "" : fmt::format(", as not {} ranks have come", all));
  }

  [[noreturn]] void end(const std::string& why) const {
    const std::string line = fmt::format("{}{}: {}. The limit is --mpi-timeout.\n",
                                         is_alone() ? "trainmark: " : "", waiting_text(), why);
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
    kill_launcher_if_it_hangs();
    std::_Exit(static_cast<int>(base::ExitCode::kSystem));
  }

  const MpiPhase phase_;
  const launch::Launcher launcher_;
  const double timeout_s_;
};

}  // namespace

MpiGuard::MpiGuard(MpiPhase phase, const launch::Launcher& launcher, double timeout_s) {
  if (timeout_s <= 0) return;
  const BlockedSignals blocked;
  try {
    thread_ = std::jthread([waiter = Waiter(phase, launcher, timeout_s)](
                               const std::stop_token& stop) mutable { waiter.wait(stop); });
  } catch (const std::system_error& e) {
    throw base::thread_error("MPI's start", e);
  }
}

MpiGuard::~MpiGuard() = default;

}  // namespace runner
