// Which CPUs the ranks of a node may use, and how many threads each gets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner/communicator.h"

namespace runner {

/// The CPUs that this process is bound to (all, if unbound), before OpenMP binds its threads.
struct Binding {
  std::string cpus;  ///< in Linux list format: "0-3,8"
  std::vector<std::int64_t> cpu_ids;
  int cores = 0;       ///< physical cores that contain at least one of them
  int numa_nodes = 0;  ///< NUMA nodes that contain at least one of them
};
Binding current_binding();

/// CPUs that the control group allows on this machine, regardless of this process's binding.
std::int64_t allowed_cpus();

/// The threads of this rank, and its node's totals.
struct ThreadPlan {
  int threads = 1;
  std::int64_t node_threads = 1;  ///< of all ranks on the node
  std::int64_t node_cpus = 1;     ///< usable by those ranks together, within the cgroup's quota
  /// Of those, the ones to which OpenMP binds the threads of all ranks.
  std::int64_t team_cpus = std::numeric_limits<std::int64_t>::max();
  /// "NAME=value" of the variable that gives this rank fewer threads than its CPUs would allow; ""
  /// if none does.
  std::string limited_by = {};
  bool oversubscribed() const { return node_threads > std::min(node_cpus, team_cpus); }
};

/// Threads of a rank that may use `mine` CPUs, when the node's ranks together may use `node_cpus`
/// CPUs and their counts sum to `claimed`: `mine`, unless ranks overlap. At least 1.
int share_of_cpus(std::int64_t mine, std::int64_t claimed, std::int64_t node_cpus);

/// Collective on `node`. `wanted` > 0 is used unchanged. 0 means OMP_NUM_THREADS if set, else this
/// rank's share of the CPUs, or as many threads as OpenMP really gives. Throws ConfigError if the
/// variable is not a positive number, SystemError if the threads cannot be started.
ThreadPlan plan_threads(std::int64_t wanted, const Binding& binding, const Communicator& node);

/// The same, without communication, for each of `ranks` ranks on this machine, all bound as this
/// process is.
int plan_threads(std::int64_t wanted, const Binding& binding, int ranks);

/// Collective over all ranks. On rank 0 a sentence about the first node whose ranks have more
/// threads than CPUs; "" if there is none, and on the other ranks.
std::string oversubscription(const ThreadPlan& plan, const Communicator& world);

nlohmann::json to_json(const Binding& binding, const ThreadPlan& plan);

}  // namespace runner
