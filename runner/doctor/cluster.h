// Examines all nodes together.
#pragma once

#include <optional>

#include "runner/communicator.h"
#include "runner/doctor/node.h"
#include "runner/doctor/report.h"
#include "runner/doctor/watched.h"
#include "runner/placement.h"

namespace doctor {

/// Collective. Judges each node for its number of ranks and threads, measures rates and messages,
/// and compares the nodes. `node` is set on the ranks that have examined their node. The report is
/// complete on rank 0.
Report examine_cluster(const runner::Communicator& world, const Request& request,
                       const LaunchFacts& launch, const Environment& environment,
                       std::optional<Node>& node, double mpi_start_s, const Reporter& reporter);

/// Checks launch.threads and launch.cpus of a node on which the job may use `available` CPUs.
Findings judge_placement(const runner::ThreadPlan& plan, std::int64_t node_ranks,
                         std::int64_t available, LaunchFacts::Launcher launcher);

/// Collective over the first ranks of all nodes. Checks folder.shared of the folder in which a run
/// writes `path`: whether each node sees a file that the first one writes. Complete on rank 0;
/// removes its file.
Findings check_shared(const runner::Communicator& leaders, const Hosts& hosts,
                      const std::string& path);

}  // namespace doctor
