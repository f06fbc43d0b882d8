// What is amiss with how a run was started, though it can run.
// Hides which options of a launcher were given.
#pragma once

#include <cstdint>
#include <string>

#include "runner/launch/launcher.h"

namespace launch {

/// That the job has more nodes than the run uses, and what to do; "" where it has not.
std::string unused_nodes(const Allocation& allocation, std::int64_t run_nodes);

/// That mpirun bound a node's ranks to fewer CPUs than the node has for them, though nobody asked
/// for a binding, and what to do; "" else. Of a node: its ranks, the CPUs that they may use
/// together, and those that it has for this job.
std::string idle_cpus(const Environment& environment, std::int64_t node_ranks,
                      std::int64_t ranks_cpus, std::int64_t node_cpus);

}  // namespace launch
