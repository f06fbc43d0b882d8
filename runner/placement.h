// Which CPUs the ranks of a node may use, and how many threads each gets.
// Hides hwloc and the arithmetic of shared CPUs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner/communicator.h"

namespace runner {

/// The CPUs that this process is bound to (all, if to none in particular).
struct Binding {
  std::string cpus;  ///< as Linux writes lists: "0-3,8"
  std::vector<std::int64_t> cpu_ids;
  int cores = 0;       ///< physical cores among them, even in part
  int numa_nodes = 0;  ///< with at least one of them
};
Binding current_binding();

/// CPUs that this machine has for us, whatever this process is bound to: those of the control
/// group.
std::int64_t allowed_cpus();

/// The threads of this rank, and what its node has for all.
struct ThreadPlan {
  int threads = 1;
  std::int64_t node_threads = 1;  ///< of all ranks on the node
  std::int64_t node_cpus = 1;     ///< that those ranks may use together, within the cgroup's quota
  bool oversubscribed() const { return node_threads > node_cpus; }
};

/// Threads of a rank that may use `mine` CPUs, where the ranks of its node may use `node_cpus`
/// together and their counts sum to `claimed`: all of mine, unless ranks overlap. At least 1.
int share_of_cpus(std::int64_t mine, std::int64_t claimed, std::int64_t node_cpus);

/// Collective on `node`. `wanted` > 0 is taken as it is; 0 means OMP_NUM_THREADS if that is set,
/// else this rank's share of the CPUs, within OMP_THREAD_LIMIT. Throws ConfigError for a variable
/// of these that is no number.
ThreadPlan plan_threads(std::int64_t wanted, const Binding& binding, const Communicator& node);

/// The same for each of `ranks` ranks on this machine that are bound as this process is, without
/// asking them.
int plan_threads(std::int64_t wanted, const Binding& binding, int ranks);

/// Collective over all ranks. On rank 0 a sentence about the first node whose ranks have more
/// threads than CPUs; "" when no node has, and on the other ranks.
std::string oversubscription(const ThreadPlan& plan, const Communicator& world);

nlohmann::json to_json(const Binding& binding, const ThreadPlan& plan);

}  // namespace runner
