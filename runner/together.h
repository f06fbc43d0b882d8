// Work that each rank does by itself and that has to succeed on all of them.
// Hides how the others learn of a failure.
#pragma once

#include <functional>

#include "runner/communicator.h"

namespace runner {

/// Collective. Calls `work` on every rank; when it threw on any, every rank throws an AgreedError
/// with the code and message of the first such rank. So nobody waits for a rank that failed.
void together(const Communicator& world, const std::function<void()>& work);

/// Collective. The same for work of rank 0 alone.
void on_rank_0(const Communicator& world, const std::function<void()>& work);

}  // namespace runner
