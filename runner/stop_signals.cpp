// The handlers behind StopSignals.
// Hides sigaction.
#include "runner/stop_signals.h"

#include <atomic>
#include <csignal>

namespace runner {
namespace {

// A signal handler can reach nothing but static storage.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<bool> stop_requested{false}, checkpoint_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void remember_stop(int /*signal*/) { stop_requested.store(true); }
void remember_checkpoint(int /*signal*/) { checkpoint_requested.store(true); }

void install(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  // Reads and writes under way go on: files are not to fail because somebody asks for an end.
  action.sa_flags = SA_RESTART | flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

StopSignals::StopSignals() {
  stop_requested.store(false);
  checkpoint_requested.store(false);
  install(SIGUSR1, remember_checkpoint, 0);
  // Reset after the first: the second one has its usual effect.
  install(SIGTERM, remember_stop, static_cast<int>(SA_RESETHAND));
  install(SIGINT, remember_stop, static_cast<int>(SA_RESETHAND));
}

StopSignals::~StopSignals() {
  for (const int signal : {SIGUSR1, SIGTERM, SIGINT}) install(signal, SIG_DFL, 0);
}

bool StopSignals::requested() const { return stop_requested.load(); }

bool StopSignals::take_checkpoint_request() { return checkpoint_requested.exchange(false); }

}  // namespace runner
