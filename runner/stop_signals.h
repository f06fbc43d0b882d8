// Asking a run to end early: SIGUSR1, SIGTERM or SIGINT sent to any rank.
// Hides the signal handlers and the one flag that they may touch.
#pragma once

namespace runner {

/// While it lives, SIGUSR1, SIGTERM and SIGINT do not end the process but are remembered. A second
/// SIGTERM or SIGINT ends it at once, for people who do not want to wait. One at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  /// True from the first such signal on.
  bool requested() const;
};

}  // namespace runner
