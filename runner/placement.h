// Which CPUs the ranks of a node may use, and how many threads each gets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner/communicator.h"
#include "runner/cpu_config.h"

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
  bool leaves_cpus = false;    ///< has fewer threads than CPUs, as the configuration wants it
  bool has_spare_cpu = false;  ///< of each rank of the node a CPU has no compute thread
  bool oversubscribed() const { return node_threads > std::min(node_cpus, team_cpus); }
};

/// Threads of a rank that has room for `mine`, when the node's ranks together may use `node_cpus`
/// CPUs and have room for `claimed`: `mine`, unless ranks overlap. At least 1.
int share_of_cpus(std::int64_t mine, std::int64_t claimed, std::int64_t node_cpus);

/// Whether a rank that has other ranks gets a progress thread.
bool wants_progress_thread(Progress progress, const ThreadPlan& plan);

/// Who gave the ranks of a node their CPUs.
enum class BoundBy {
  kNobody,    ///< each may use all CPUs that the control group allows
  kLauncher,  ///< or the scheduler, before this program began
  kProgram
};

/// The CPUs and threads of this rank.
struct Place {
  Binding binding;
  ThreadPlan threads;
  BoundBy bound_by = BoundBy::kNobody;
  bool has_progress_thread = false;  ///< where there are other ranks
  std::string summary;               ///< on a node's first rank: what its ranks have
  std::vector<std::string> faults;   ///< on rank 0: what is wrong, on the first node where it is
};

/// Collective on `world`, of which `node` has the ranks of this node; called once, before this
/// process starts a team of OpenMP threads. Ranks of the node that may use exactly the same CPUs
/// are bound to parts of these (cpu_plan.h), unless somewhere there are more ranks than cores or
/// more threads than CPUs in a part, OpenMP's variables have bound threads, or `config` says no.
/// `threads` > 0 is used unchanged. 0 means OMP_NUM_THREADS if set, else as many as fit the rank's
/// part, or its share of CPUs that ranks have in common, or as many as OpenMP really gives. Throws
/// AgreedError (kUsage) if the variable is not a positive number or cores cannot be spared on any
/// rank, SystemError if threads cannot be started or bound.
Place take_place(const CpuConfig& config, std::int64_t threads, const Communicator& world,
                 const Communicator& node);

/// The threads that take_place() would give each of `ranks` ranks on this machine, all bound as
/// this process is.
int planned_threads(const CpuConfig& config, std::int64_t threads, int ranks);

/// Collective over all ranks. On rank 0 a sentence about the first node whose ranks have more
/// threads than CPUs; "" if there is none, and on the other ranks.
std::string oversubscription(const ThreadPlan& plan, const Communicator& world);

/// {"cpus", "cores", "numa_nodes", "threads", "node_threads", "node_cpus", "bound_by",
/// "progress": "thread" or "layers"}
nlohmann::json to_json(const Place& place);

}  // namespace runner
