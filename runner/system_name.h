// The folder of a system's results, where a configuration does not name it.
// Hides how a CPU's marketing name becomes short.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/communicator.h"
#include "runner/run_config.h"

namespace runner {

/// The same whichever nodes a run gets: "4x-xeon-platinum-8368"; several models in alphabetical
/// order.
std::string shared_system_name(std::int64_t nodes, const std::vector<std::string>& cpu_models);

/// Collective. Of a run on several nodes that nothing names, neither its configuration nor a
/// scheduler's cluster, `system_name` becomes the shared one: that of one node's host would change
/// with the nodes, and sets and resumed runs would lose each other.
void name_system(RunConfig& config, const Communicator& world, const Topology& topology);

}  // namespace runner
