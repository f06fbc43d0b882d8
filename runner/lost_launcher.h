// The end of ranks whose launcher is gone.
#pragma once

namespace runner {

/// When its launcher is gone, Open MPI 4 ends a rank by _exit(), on a thread of its own and without
/// a word. This program has an _exit() of its own, which is called instead: while a LostLauncher
/// lives, it records StopSignal::kLostLauncher and waits until the run has saved what is to be
/// saved and closed its log, that is, for the destructor or 30 seconds. What is printed after that
/// may be lost, and the exit code is Open MPI's. Ranks on other hosts are killed by their daemons,
/// so only a run whose ranks are all on one host can save. Requires a StopSignals that lives
/// longer. At most one instance at a time.
class LostLauncher {
 public:
  LostLauncher();
  ~LostLauncher();
  LostLauncher(const LostLauncher&) = delete;
  LostLauncher& operator=(const LostLauncher&) = delete;
};

}  // namespace runner
