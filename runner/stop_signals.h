// Signals that ask a run to end early or to save itself, on any rank.
// Hides the handlers and the little that they may touch.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>

namespace runner {

/// What asked for the end. Where several did, the first of this order counts.
enum class StopSignal {
  kNone,
  kSaveAndEnd,  ///< SIGUSR2: mpirun forwards it, and schedulers send it before a time limit
  kTerminate,   ///< SIGTERM
  kInterrupt,   ///< SIGINT
  kHangUp,      ///< SIGHUP
  kCpuTime      ///< SIGXCPU
};
inline constexpr std::size_t kStopSignalCount = 6;

/// "SIGTERM"; "" for kNone.
const char* to_string(StopSignal signal);

/// While it lives, the signals above and SIGUSR1 do not end the process but are remembered. Two of
/// a kind within a second count once, as Slurm sends SIGTERM twice at a time limit. A third SIGTERM
/// or a second SIGINT ends the process at once. A SIGHUP that is ignored, as under nohup, stays so.
/// Later SIGUSR1 and SIGUSR2 are ignored: what they ask for is done. One at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  /// What has asked for the end so far.
  StopSignal requested() const;
  /// Whether SIGUSR1 came since this was last asked.
  bool take_checkpoint_request();

 private:
  std::array<struct sigaction, kStopSignalCount> before_{};
};

/// Whether a StopSignals of this process was asked for the end, for work that takes long before the
/// run loop looks: signals come to the process, whoever is at work.
bool is_told_to_end();

}  // namespace runner
