// The signal handlers of StopSignals. They use only what is safe in a handler: lock-free atomics,
// clock_gettime, sigaction and raise.
#include "runner/stop_signals.h"

#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace runner {
namespace {

constexpr std::int64_t kOnceMs = 1000;

struct Kind {
  int number;  ///< 0: no signal
  const char* name;
  int forced_at;  ///< this many end the process at once; 0: never
};
/// Indexed by StopSignal.
constexpr std::array<Kind, kStopSignalCount> kKinds = {{{0, "", 0},
                                                        {SIGUSR2, "SIGUSR2", 0},
                                                        {SIGTERM, "SIGTERM", 3},
                                                        {SIGINT, "SIGINT", 2},
                                                        {SIGHUP, "SIGHUP", 0},
                                                        {SIGXCPU, "SIGXCPU", 0},
                                                        {SIGQUIT, "SIGQUIT", 2},
                                                        {0, "the loss of its launcher", 0}}};

struct Count {
  std::atomic<int> times{0};
  std::atomic<std::int64_t> last_ms{0};  ///< when the last one was counted
};
static_assert(std::atomic<int>::is_always_lock_free);
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// Signal handlers can only access static storage.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
std::array<Count, kStopSignalCount> counts;
std::atomic<bool> checkpoint_requested{false};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

struct sigaction action_of(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  // Restart system calls in progress: a stop request must not make file operations fail.
  action.sa_flags = SA_RESTART;
  sigfillset(&action.sa_mask);
  return action;
}

void install(int signal, void (*handler)(int), struct sigaction* before = nullptr) {
  const struct sigaction action = action_of(handler);
  sigaction(signal, &action, before);
}

std::int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

/// The number of times this signal has come, or 0 if this one does not count. Several threads may
/// receive one at the same time.
int count(Count& seen) {
  const std::int64_t now = now_ms();
  std::int64_t last = seen.last_ms.load();
  if (seen.times.load() > 0 && now - last < kOnceMs) return 0;
  if (!seen.last_ms.compare_exchange_strong(last, now)) return 0;
  return seen.times.fetch_add(1) + 1;
}

void remember_stop(int signal) {
  const int error = errno;
  for (std::size_t i = 1; i < kKinds.size(); ++i) {
    if (kKinds[i].number != signal) continue;
    const int times = count(counts[i]);
    if (kKinds[i].forced_at == 0 || times < kKinds[i].forced_at) continue;
    install(signal, SIG_DFL);
    raise(signal);  // takes effect when this handler returns
  }
  errno = error;
}

void remember_checkpoint(int /*signal*/) { checkpoint_requested.store(true); }

StopSignal first_counted() {
  for (std::size_t i = 1; i < counts.size(); ++i) {
    if (counts[i].times.load() > 0) return static_cast<StopSignal>(i);
  }
  return StopSignal::kNone;
}

}  // namespace

const char* to_string(StopSignal signal) { return kKinds[static_cast<std::size_t>(signal)].name; }

StopSignals::StopSignals() {
  for (Count& seen : counts) seen.times.store(0);
  checkpoint_requested.store(false);
  install(SIGUSR1, remember_checkpoint);
  for (std::size_t i = 1; i < kKinds.size(); ++i) {
    if (kKinds[i].number == 0) continue;
    install(kKinds[i].number, remember_stop, &before_[i]);
    const bool stays_ignored = kKinds[i].number == SIGHUP && before_[i].sa_handler == SIG_IGN;
    if (stays_ignored) sigaction(SIGHUP, &before_[i], nullptr);
  }
}

StopSignals::~StopSignals() {
  for (Count& seen : counts) seen.times.store(0);
  for (std::size_t i = 1; i < kKinds.size(); ++i) {
    if (kKinds[i].number != 0) sigaction(kKinds[i].number, &before_[i], nullptr);
  }
  install(SIGUSR1, SIG_IGN);
  install(SIGUSR2, SIG_IGN);
}

StopSignal StopSignals::requested() const { return first_counted(); }

bool StopSignals::take_checkpoint_request() { return checkpoint_requested.exchange(false); }

void tell_of_lost_launcher() {
  counts[static_cast<std::size_t>(StopSignal::kLostLauncher)].times.store(1);
}

bool is_told_to_end() { return first_counted() != StopSignal::kNone; }

}  // namespace runner
