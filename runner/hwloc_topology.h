// The machine's topology from hwloc.
#pragma once

#include <hwloc.h>

#include <memory>
#include <type_traits>

namespace runner {

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using TopologyHandle = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, TopologyDeleter>;

/// Throws SystemError if hwloc cannot read the machine.
TopologyHandle load_topology();

}  // namespace runner
