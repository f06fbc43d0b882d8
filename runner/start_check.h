// Checks, when MPI has started, what training takes for granted of it.
#pragma once

#include "runner/communicator.h"

namespace runner {

/// Collective. Adds up a short and a long array of ones on all ranks by nonblocking sums that are
/// then only tested, as training does. Returns when they are complete on this rank; throws
/// SystemError naming an element if a sum is wrong, as happens where ranks may not read each
/// other's memory.
void check_first_sum(const Communicator& world);

}  // namespace runner
