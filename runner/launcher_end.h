// Kills an mpirun that does not exit by itself.
#pragma once

namespace runner {

/// If this process is a child of mpirun, forks a process that kills mpirun if it still runs a few
/// seconds after this process ended. (mpirun waits minutes for its daemon on a lost node.) Call it
/// just before this process ends. Nothing else is touched.
void kill_launcher_if_it_hangs() noexcept;

}  // namespace runner
