// The ranks of this job that are on this host, as seen without MPI.
// Hides /proc, and how processes of one job are told from others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/launch/launcher.h"

namespace launch {

/// A rank's process. Where a script started the program, that script is one, too.
struct LocalRank {
  std::int64_t rank = 0;
  std::int64_t process = 0;
  char state = '?';  ///< as base::ProcessState has it
};

/// All processes of the job on this host, by rank, this one included. Of processes of other users,
/// or where /proc cannot be read, nothing is known. `mine` is the environment of this process.
std::vector<LocalRank> local_ranks(const Environment& mine);

/// Who keeps a job from coming together, as far as this host shows it.
struct MissingRanks {
  /// "stopped on this host: rank 2 (process 4711)", and what to do; "" where all are well here.
  std::string here;
  std::string elsewhere;     ///< where to look then
  std::int64_t speaker = 0;  ///< the first rank of this host that is well
};

/// `ranks`: those of local_ranks(), seen from a process that `launcher` started.
MissingRanks missing_ranks(const std::vector<LocalRank>& ranks, const Launcher& launcher,
                           const Environment& mine);

}  // namespace launch
