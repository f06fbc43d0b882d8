// Finds the replicas that differ from rank 0's.
#pragma once

#include <cstdint>
#include <string>

#include "runner/communicator.h"

namespace runner {

/// Collective. The ranks whose hash differs from rank 0's, as "2, 5"; the same text on every rank,
/// empty if all agree.
std::string drifted_ranks(const Communicator& world, std::uint64_t hash);

}  // namespace runner
