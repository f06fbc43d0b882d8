// Signals to any rank, and the loss of its launcher, that ask a run to end early or to save a
// checkpoint.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>

namespace runner {

/// What asked for the end. If several did, the first in this order counts.
enum class StopSignal {
  kNone,
  kSaveAndEnd,   ///< SIGUSR2: mpirun forwards it, and schedulers send it before a time limit
  kTerminate,    ///< SIGTERM
  kInterrupt,    ///< SIGINT
  kHangUp,       ///< SIGHUP
  kCpuTime,      ///< SIGXCPU
  kQuit,         ///< SIGQUIT: a user's Ctrl-\, or a script that kills by it
  kLostLauncher  ///< no signal: see LostLauncher
};
inline constexpr std::size_t kStopSignalCount = 8;

/// "SIGTERM", "the loss of its launcher"; "" for kNone.
const char* to_string(StopSignal signal);

/// While it lives, the signals above and SIGUSR1 are recorded instead of ending the process. Two of
/// a kind within a second count once, as Slurm sends SIGTERM twice at a time limit. A third SIGTERM
/// or a second SIGINT or SIGQUIT ends the process at once, the last with a core dump: who wants one
/// of a process that hangs still gets it, and a run that does not hang closes its log. SIGHUP stays
/// ignored if it was, as under nohup. After its destruction, SIGUSR1 and SIGUSR2 are ignored, as
/// their work is done. At most one instance at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  /// The signal that has asked for the end so far, or kNone.
  StopSignal requested() const;
  /// Whether SIGUSR1 came since the last call.
  bool take_checkpoint_request();

 private:
  std::array<struct sigaction, kStopSignalCount> before_{};
};

/// Whether a StopSignals of this process has recorded a stop. For long work outside the run loop;
/// callable from any thread.
bool is_told_to_end();

/// Records kLostLauncher for the StopSignals that lives. Callable from any thread.
void tell_of_lost_launcher();

}  // namespace runner
