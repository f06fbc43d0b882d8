// What every figure of a run stands on: build, libraries, machines, bindings.
// Hides how it is collected from the nodes.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "runner/communicator.h"
#include "runner/placement.h"

namespace runner {

/// Collective. On rank 0: {"build", "libraries", "machine" (rank 0's node), "other_nodes" (those
/// whose facts differ from it but for the host's name, facts that differ only), "binding": by rank,
/// CPUs and threads}; elsewhere null.
nlohmann::json gather_provenance(const Communicator& world, const Topology& topology,
                                 const Binding& binding, const ThreadPlan& threads,
                                 const nlohmann::json& libraries);

}  // namespace runner
