// The offsets of other hosts' clocks from rank 0's.
#pragma once

#include "runner/communicator.h"
#include "runner/telemetry/clock_offset.h"

namespace runner {

/// Collective. The offset from this rank's clock to rank 0's, measured by messages between rank 0
/// and the first rank of each other node, one node at a time. Ranks of rank 0's node share its
/// clock.
telemetry::ClockOffset measure_clock_offset(const Communicator& world, const Topology& topology,
                                            const base::Clock& clock);

}  // namespace runner
