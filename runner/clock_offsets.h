// How far the clocks of other hosts are from rank 0's.
// Hides the messages to and fro.
#pragma once

#include "runner/communicator.h"
#include "runner/telemetry/clock_offset.h"

namespace runner {

/// Collective. From this rank's clock to rank 0's, by messages between rank 0 and the first rank of
/// each other node, one node after the other; ranks of rank 0's node have its clock.
telemetry::ClockOffset measure_clock_offset(const Communicator& world, const Topology& topology,
                                            const base::Clock& clock);

}  // namespace runner
