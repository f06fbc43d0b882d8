// Warnings about how a run was started, though it can run.
#pragma once

#include <cstdint>
#include <string>

#include "runner/launch/launcher.h"

namespace launch {

/// Says that the job has more nodes than the run uses, and what to do; else "".
std::string unused_nodes(const Allocation& allocation, std::int64_t run_nodes);

/// Says that the Slurm job has several tasks, but this run is the lone process of what looks like
/// its batch script, and what to do; else "". The first task of a step whose variables were lost on
/// the way, as into a container, looks the same: its other tasks refuse to run.
std::string lone_task(const Environment& environment, std::int64_t mpi_ranks);

/// Says that mpirun by default bound a node's ranks to fewer CPUs than the node has for them, or
/// that OpenMP's variables list fewer CPUs, and what to do; else "". The counts
/// are of one node: its ranks, the CPUs that they may use together, and the CPUs that the job has
/// there.
std::string idle_cpus(const Environment& environment, std::int64_t node_ranks,
                      std::int64_t ranks_cpus, std::int64_t node_cpus);

}  // namespace launch
