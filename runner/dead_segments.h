// Removes Open MPI's shared memory files of ranks that were killed together with their launcher.
#pragma once

#include <string>

namespace runner {

/// Removes Open MPI's files in `folder` (on Linux /dev/shm) that belong to this user and host, are
/// older than half a minute, and are not mapped by any of the user's processes. Never throws. Open
/// MPI removes its own files, except when all processes of a node are killed at once.
void remove_dead_segments(const std::string& folder = "/dev/shm") noexcept;

}  // namespace runner
