// Loads the topology, and lists its objects.
#include "runner/hwloc_topology.h"

#include "runner/base/error.h"

namespace runner {

TopologyHandle load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw base::SystemError("hwloc_topology_init failed");
  TopologyHandle topology(raw);
  if (hwloc_topology_load(raw) != 0) throw base::SystemError("hwloc_topology_load failed");
  return topology;
}

std::vector<hwloc_obj_t> objects_of(hwloc_topology_t topology, hwloc_obj_type_t type) {
  std::vector<hwloc_obj_t> all;
  for (hwloc_obj_t object = hwloc_get_next_obj_by_type(topology, type, nullptr); object != nullptr;
       object = hwloc_get_next_obj_by_type(topology, type, object)) {
    all.push_back(object);
  }
  return all;
}

bool contains(hwloc_obj_t object, int cpu) {
  return hwloc_bitmap_isset(object->cpuset, static_cast<unsigned>(cpu)) != 0;
}

}  // namespace runner
