// Shared memory that ranks left which were killed together with their launcher.
// Hides Open MPI's file names, and how a file in use is told from one that is not.
#pragma once

#include <string>

namespace runner {

/// Removes files of Open MPI in `folder` (on Linux /dev/shm) that are this user's and this host's,
/// older than half a minute, and not mapped by any process. Nothing throws. Open MPI removes its
/// own files, but not where all of a node's processes are killed at once.
void remove_dead_segments(const std::string& folder = "/dev/shm") noexcept;

}  // namespace runner
