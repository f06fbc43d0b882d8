// The names of the nodes.
#include "runner/node_hosts.h"

#include <cstddef>

#include "runner/base/system_facts.h"

namespace runner {

std::vector<std::string> node_hosts(const Communicator& world, const Topology& topology) {
  std::string all;
  for (const std::string& host :
       world.gather(topology.is_node_leader() ? base::host_name() : std::string(), 0)) {
    if (!host.empty()) all += host + '\n';
  }
  all = world.broadcast(all, 0);
  std::vector<std::string> hosts;
  for (std::size_t begin = 0, end = 0; (end = all.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    hosts.push_back(all.substr(begin, end - begin));
  }
  hosts.resize(static_cast<std::size_t>(topology.node_count));
  return hosts;
}

}  // namespace runner
