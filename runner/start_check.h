// Checks, when MPI has started, what training takes for granted of it.
#pragma once

#include "runner/communicator.h"

namespace runner {

/// Collective. Adds up an array of ones on all ranks by a nonblocking sum that is then only tested,
/// as training does. Returns when the sum is complete on this rank; throws SystemError naming an
/// element if a sum is wrong, as happens where ranks may not read each other's memory.
void check_first_sum(const Communicator& world);

}  // namespace runner
