// Ends a rank that makes no progress, so that a hang costs minutes and not the allocation.
// Hides the thread that watches.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace runner {

/// Calls `on_hang(message)` once when no pulse() came for `timeout_s` seconds; 0 watches nothing.
/// on_hang runs on the watching thread and is expected to end the process.
class Watchdog {
 public:
  using OnHang = std::function<void(const std::string&)>;
  Watchdog(double timeout_s, OnHang on_hang);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  /// Progress was made; `doing` names what comes next.
  void pulse(const char* doing);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace runner
