// The thread that waits for the next pulse.
// Hides lock and condition.
#include "runner/watchdog.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace runner {

struct Watchdog::State {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::uint64_t pulses = 0;
  const char* doing = "start";
  std::jthread thread;  // last: joined before what it uses is gone
};

Watchdog::Watchdog(double timeout_s, OnHang on_hang) {
  if (timeout_s <= 0) return;
  state_ = std::make_unique<State>();
  const auto watch = [state = state_.get(), timeout_s,
                      on_hang = std::move(on_hang)](const std::stop_token& stop) {
    std::unique_lock lock(state->mutex);
    while (!stop.stop_requested()) {
      const std::uint64_t seen = state->pulses;
      const bool pulsed =
          state->changed.wait_for(lock, stop, std::chrono::duration<double>(timeout_s),
                                  [&] { return state->pulses != seen; });
      if (pulsed || stop.stop_requested()) continue;
      on_hang(fmt::format("no progress for {} s during {}", timeout_s, state->doing));
      return;
    }
  };
  state_->thread = std::jthread(watch);
}

Watchdog::~Watchdog() = default;

void Watchdog::pulse(const char* doing) {
  if (state_ == nullptr) return;
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->pulses;
    state_->doing = doing;
  }
  state_->changed.notify_all();
}

}  // namespace runner
