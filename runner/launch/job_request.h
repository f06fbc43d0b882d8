// The parameters of a job script.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace launch {

enum class Scheduler { kSlurm, kPbs, kLsf, kFlux };

/// The program that starts the ranks inside the allocation.
enum class Starter { kMpirun, kSrun, kFlux };

/// How the members of a run set are scheduled.
enum class SetMode {
  kArray,    ///< each is a task of a job array
  kTogether  ///< all at the same time, in one allocation
};

/// Whether other jobs may share the nodes.
enum class Sharing { kExclusive, kShared };

/// The checks before the run starts.
enum class Preflight {
  kNone,
  kPlan,   ///< `run --dry-run` on all ranks
  kDoctor  ///< kPlan, and `doctor --quick` on every node
};

/// Whether the job gives the run a node-local folder for its samples and removes it afterwards.
enum class Staging {
  kAsConfigured,  ///< no staging, or the configuration names the folder
  kToScratch
};

/// The job's result if its run misses the target.
enum class Missed { kFailure, kSuccess };

struct JobRequest {
  Scheduler scheduler = Scheduler::kSlurm;
  Starter starter = Starter::kMpirun;
  std::string program = "trainmark";
  std::string config;                  ///< path relative to the job's working folder
  std::vector<std::string> overrides;  ///< KEY=VALUE of --set
  std::string workload;                ///< for the header
  std::string name;                    ///< of the job: letters, digits, '.', '_', '-'
  std::int64_t nodes = 1;              ///< of a run
  std::int64_t ranks_per_node = 1;
  std::int64_t cpus_per_rank = 1;
  bool spares_cpus = false;    ///< the configuration gives a rank fewer threads than CPUs
  std::int64_t time_s = 3600;  ///< limit, in whole minutes
  std::int64_t runs = 1;       ///< above 1: a run set
  SetMode set_mode = SetMode::kArray;
  std::int64_t at_once = 0;  ///< members of an array that may run at the same time; 0: all
  Sharing sharing = Sharing::kExclusive;
  std::string queue;  ///< partition or queue
  std::string account;
  std::string qos;
  std::string constraint;
  std::vector<std::string> modules;
  Staging staging = Staging::kToScratch;
  std::string scratch;                 ///< node-local folder; empty: determined when the job runs
  std::string results;                 ///< folder of results, as in the configuration
  std::int64_t signal_margin_s = 120;  ///< time between the warning signal and the limit
  std::int64_t restarts = 10;          ///< at most
  double checkpoint_minutes = 10;      ///< 0: as in the configuration
  Preflight preflight = Preflight::kDoctor;
  Missed missed = Missed::kFailure;
  std::vector<std::string> directives;       ///< the scheduler's options, one line each
  std::vector<std::string> starter_options;  ///< for mpirun, srun or flux run

  bool is_set() const { return runs > 1; }
  bool is_array() const { return is_set() && set_mode == SetMode::kArray; }
  bool is_together() const { return is_set() && set_mode == SetMode::kTogether; }
  /// The number of nodes in the allocation.
  std::int64_t all_nodes() const { return is_together() ? nodes * runs : nodes; }
};

}  // namespace launch
