// Which CPUs of a node each of its ranks should have.
#pragma once

#include <hwloc.h>

#include <string>
#include <vector>

#include "runner/cpu_config.h"

namespace runner {

struct RankCpus {
  std::vector<int> cpus;  ///< all of its cores, ascending
  int cores = 0;
  int threads = 0;  ///< compute threads that fit beside the spare cores
};

struct CpuPlan {
  std::vector<RankCpus> ranks;  ///< empty if there are more ranks than cores
  int idle_cores = 0;           ///< that no rank has
};

/// Divides the cores that contain a CPU of `usable` among `ranks` ranks, the same number to each.
/// Ranks keep within a socket, NUMA node and shared cache, or have whole ones, where their number
/// divides the number of these or is a multiple of it; otherwise neighbouring cores. Throws
/// ConfigError if every core of a rank is to be spare.
/// Source: Intel's ResNet-50 of MLPerf Training v0.7 had two ranks on each socket of 28 cores, with
/// 12 compute threads each and 2 cores left for communication.
CpuPlan plan_cpus(hwloc_topology_t topology, const std::vector<int>& usable, int ranks,
                  const CpuConfig& config);

/// What is wrong with the CPUs of a node's ranks, one sentence each: the first two ranks that have
/// some CPUs in common, though not all, and the first on parts of several NUMA nodes that would fit
/// on one.
std::vector<std::string> faults_of(hwloc_topology_t topology,
                                   const std::vector<std::vector<int>>& ranks_cpus);

}  // namespace runner
