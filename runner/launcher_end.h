// The launcher whose child this process is: who it is, and the end of one that hangs.
#pragma once

#include <sys/types.h>

namespace runner {

/// The parent, if it is mpirun or its daemon on this host; 0: another process, such as a script
/// between the launcher and this program.
pid_t parent_launcher() noexcept;

/// If this process is a child of mpirun, forks a process that kills mpirun if it still runs a few
/// seconds after this process ended. (mpirun waits minutes for its daemon on a lost node.) Call it
/// just before this process ends. Nothing else is touched.
void kill_launcher_if_it_hangs() noexcept;

}  // namespace runner
