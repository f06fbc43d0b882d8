// Machines that hwloc makes from a description.
#pragma once

#include <hwloc.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "runner/hwloc_topology.h"

namespace runner {

inline constexpr const char* kTwoXeons = "package:2 [numa] l3:1 core:28 pu:1";
inline constexpr const char* kTwoXeonsSmt = "package:2 [numa] l3:1 core:28 pu:2";
inline constexpr const char* kEightXeons = "package:8 [numa] l3:1 core:28 pu:1";
inline constexpr const char* kTwoEpycs = "package:2 group:4 [numa] l3:2 core:8 pu:1";
inline constexpr const char* kA64fx = "package:1 group:4 [numa] l2:1 core:12 pu:1";

inline TopologyHandle synthetic_machine(const char* description) {
  hwloc_topology_t raw = nullptr;
  hwloc_topology_init(&raw);
  TopologyHandle topology(raw);
  if (hwloc_topology_set_synthetic(raw, description) != 0 || hwloc_topology_load(raw) != 0) {
    throw std::runtime_error(std::string("hwloc refuses ") + description);
  }
  return topology;
}

/// As the operating system numbers them, ascending.
inline std::vector<int> all_cpus(const TopologyHandle& topology) {
  std::vector<int> cpus;
  const int count = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_PU);
  for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
    cpus.push_back(
        static_cast<int>(hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_PU, i)->os_index));
  }
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

}  // namespace runner
