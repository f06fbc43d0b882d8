// The examination of all nodes together.
#pragma once

#include <optional>

#include "runner/communicator.h"
#include "runner/doctor/node.h"
#include "runner/doctor/report.h"
#include "runner/doctor/watched.h"
#include "runner/placement.h"

namespace doctor {

/// Collective. Judges each node with the ranks and threads that it has, measures rates and messages
/// and compares the nodes. `node`: of the ranks that have looked at theirs. Whole on rank 0.
Report examine_cluster(const runner::Communicator& world, const Request& request,
                       const LaunchFacts& launch, const Environment& environment,
                       std::optional<Node>& node, double mpi_start_s, const Teller& teller);

/// launch.threads and launch.cpus of a node, of which the job may use `available` CPUs.
Findings judge_placement(const runner::ThreadPlan& plan, std::int64_t node_ranks,
                         std::int64_t available, LaunchFacts::Launcher launcher);

/// Collective over the first ranks of all nodes. folder.shared of the folder in which a run writes
/// `path`: whether each node sees what the first one writes. Whole on rank 0; removes its file.
Findings check_shared(const runner::Communicator& leaders, const Hosts& hosts,
                      const std::string& path);

}  // namespace doctor
