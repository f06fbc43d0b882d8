// Work that each rank does locally and that must succeed on all of them.
#pragma once

#include <functional>

#include "runner/communicator.h"

namespace runner {

/// Collective. Calls `work` on every rank. If it throws on any, every rank throws an AgreedError
/// with the code and message of the lowest such rank, so that no rank waits for a failed one.
void together(const Communicator& world, const std::function<void()>& work);

/// Collective. The same for work on rank 0 only.
void on_rank_0(const Communicator& world, const std::function<void()>& work);

}  // namespace runner
