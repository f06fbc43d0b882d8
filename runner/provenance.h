// The provenance of a run's measurements: build, libraries, machines, bindings.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "runner/communicator.h"
#include "runner/placement.h"

namespace runner {

/// Collective. On rank 0: {"build", "libraries", "machine" (rank 0's node), "nodes", "other_nodes"
/// (nodes that differ in more than the host's name, with the differing facts only), "binding" (CPUs
/// and threads, by rank)}; elsewhere null.
nlohmann::json gather_provenance(const Communicator& world, const Topology& topology,
                                 const Place& place, const nlohmann::json& libraries);

}  // namespace runner
