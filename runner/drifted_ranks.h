// Which replicas are no longer equal to the first.
// Hides how ranks compare.
#pragma once

#include <cstdint>
#include <string>

#include "runner/communicator.h"

namespace runner {

/// Collective. The ranks whose hash is not rank 0's, as "2, 5", the same text on every rank; empty
/// where all agree.
std::string drifted_ranks(const Communicator& world, std::uint64_t hash);

}  // namespace runner
