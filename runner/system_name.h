// The default name of a system, used as a folder of results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/communicator.h"
#include "runner/run_config.h"

namespace runner {

/// "4x-xeon-platinum-8368": independent of which nodes a run gets. Several models are in
/// alphabetical order.
std::string shared_system_name(std::int64_t nodes, const std::vector<std::string>& cpu_models);

/// Collective. Sets `system_name` to the shared name in a run on several nodes, unless the
/// configuration or a scheduler's cluster names the system. A name from one host would change with
/// the nodes, and sets and resumed runs would not find their files.
void name_system(RunConfig& config, const Communicator& world, const Topology& topology);

}  // namespace runner
