// The names of the nodes.
#pragma once

#include <string>
#include <vector>

#include "runner/communicator.h"

namespace runner {

/// Collective. Host names by node index, on every rank.
std::vector<std::string> node_hosts(const Communicator& world, const Topology& topology);

}  // namespace runner
