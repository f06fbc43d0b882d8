// Asking a run to end early (SIGTERM or SIGINT) or to save itself and go on (SIGUSR1), on any rank.
// Hides the signal handlers and the two flags that they may touch.
#pragma once

namespace runner {

/// While it lives, SIGTERM, SIGINT and SIGUSR1 do not end the process but are remembered. A second
/// SIGTERM or SIGINT ends it at once, for people who do not want to wait. One at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  /// True from the first SIGTERM or SIGINT on.
  bool requested() const;
  /// Whether SIGUSR1 came since this was last asked.
  bool take_checkpoint_request();
};

}  // namespace runner
