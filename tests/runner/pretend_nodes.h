// Ranks of one host as if they were on several nodes.
#pragma once

#include <algorithm>

#include "runner/communicator.h"

namespace runner {

/// Collective. Distributes consecutive ranks over `count` nodes, at most one node per rank.
inline Topology pretend_nodes(const Communicator& world, int count) {
  count = std::min(count, world.size());
  const int mine = world.rank() * count / world.size();
  Topology topology{world.split(mine, world.rank()), mine, count, {}};
  for (int rank = 0; rank < world.size(); ++rank) {
    topology.node_of_rank.push_back(rank * count / world.size());
  }
  return topology;
}

}  // namespace runner
