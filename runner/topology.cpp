// Finds out which ranks share a node.
#include <array>
#include <iterator>
#include <set>

#include "runner/base/narrow.h"
#include "runner/communicator.h"

namespace runner {

Topology discover_topology(const Communicator& world) {
  Topology topology{world.split_node(), 0, 1, {}};
  // Rank 0 of each node has the node's lowest world rank, because split_node keeps the order.
  std::array<std::int64_t, 1> leader = {topology.node.allreduce_min(std::int64_t{world.rank()})};
  std::vector<std::int64_t> leaders = world.gather(std::span<const std::int64_t>(leader), 0);
  leaders.resize(static_cast<std::size_t>(world.size()));
  world.broadcast(std::as_writable_bytes(std::span(leaders)), 0);
  const std::set<std::int64_t> nodes(leaders.begin(), leaders.end());
  topology.node_count = base::narrow<int>(nodes.size());
  for (const std::int64_t first : leaders) {
    topology.node_of_rank.push_back(
        base::narrow<int>(std::distance(nodes.begin(), nodes.find(first))));
  }
  topology.node_index = topology.node_of_rank[static_cast<std::size_t>(world.rank())];
  return topology;
}

}  // namespace runner
