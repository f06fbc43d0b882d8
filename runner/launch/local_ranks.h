// Finds the ranks of this job on this host without MPI, through /proc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/launch/launcher.h"

namespace launch {

/// A rank's process. A script that started the program counts too.
struct LocalRank {
  std::int64_t rank = 0;
  std::int64_t process = 0;
  char state = '?';  ///< see base::ProcessState
};

/// All processes of the job on this host, by rank, including this one. Other users' processes are
/// not seen, and none if /proc cannot be read. A rank that waits for a device is watched for up to
/// 0.5 s, so that its state is D only if the wait lasts. `mine` is this process's environment.
std::vector<LocalRank> local_ranks(const Environment& mine);

/// The ranks that keep a job from starting, as far as visible on this host.
struct MissingRanks {
  /// "stopped on this host: rank 2 (process 4711)", and what to do; "" if all are well here.
  std::string here;
  std::string elsewhere;     ///< where else to look
  std::int64_t speaker = 0;  ///< the first rank of this host that is well
};

/// `ranks`: from local_ranks(), in a process that `launcher` started.
MissingRanks missing_ranks(const std::vector<LocalRank>& ranks, const Launcher& launcher,
                           const Environment& mine);

}  // namespace launch
