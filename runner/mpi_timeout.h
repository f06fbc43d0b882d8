// How long MPI's start, and its end, may take by default.
#pragma once

#include <cstdint>

namespace runner {

/// As long as Slurm's PMIx plug-in waits for ranks.
inline constexpr std::int64_t kMpiTimeoutS = 300;

}  // namespace runner
