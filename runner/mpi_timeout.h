// The default time limit for MPI's start and end.
#pragma once

#include <cstdint>

namespace runner {

/// The same time that Slurm's PMIx plug-in waits for ranks.
inline constexpr std::int64_t kMpiTimeoutS = 300;

}  // namespace runner
