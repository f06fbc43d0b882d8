// The machine's topology from hwloc.
#pragma once

#include <hwloc.h>

#include <memory>
#include <type_traits>
#include <vector>

namespace runner {

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using TopologyHandle = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, TopologyDeleter>;

/// Throws SystemError if hwloc cannot read the machine.
TopologyHandle load_topology();

/// In the order of their logical numbers.
std::vector<hwloc_obj_t> objects_of(hwloc_topology_t topology, hwloc_obj_type_t type);
/// Whether the CPU, by the operating system's number, belongs to the object.
bool contains(hwloc_obj_t object, int cpu);

}  // namespace runner
