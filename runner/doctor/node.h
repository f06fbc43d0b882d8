// Examines one node by itself, without MPI.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runner/config_source.h"
#include "runner/doctor/finding.h"
#include "runner/doctor/host_facts.h"
#include "runner/doctor/launch_facts.h"
#include "runner/doctor/needs.h"

namespace doctor {

/// The request of the command line.
struct Request {
  const runner::ConfigSource* source = nullptr;  ///< null: no configuration
  bool quick = false;                            ///< measure no rates
  std::int64_t planned_node_ranks = 0;           ///< 0: the number that was started
  std::int64_t job_root = 0;                     ///< the process whose descendants form the job
  std::function<nlohmann::json()> libraries;
  /// see CommandParts::staged_copies; may be null
  std::function<nlohmann::json(const std::string& folder)> staged_copies;
  runner::CpuConfig cpus() const;  ///< of the configuration, else by default
  std::int64_t threads() const;    ///< likewise
};

/// The facts that a node's first rank has read.
class Node {
 public:
  /// Examines the node; reports each stage to `stage`.
  Node(const Request& request, const LaunchFacts& launch, const Environment& environment,
       const std::function<void(const std::string&)>& stage);

  /// Judges the node for this number of ranks and threads. Called again when MPI has determined
  /// them.
  Findings judge(const runner::PlannedRank& place) const;
  Needs needs(const runner::PlannedRank& place) const;
  /// A rank's place according to launcher and environment, before MPI starts.
  const runner::PlannedRank& expected_place() const { return expected_; }
  const HostFacts& host() const { return host_; }
  /// Memory available for measurements.
  std::int64_t memory_available() const;
  /// Facts that should be the same on all nodes: {"revision", "libraries", "cpu_model", ...}.
  nlohmann::json alike_facts() const;

 private:
  void plan_place();

  const Request& request_;
  const LaunchFacts& launch_;
  const Environment& environment_;
  HostFacts host_;
  runner::PlannedRank expected_;
  Findings looked_;  ///< verdicts that do not depend on the number of ranks
};

/// needs(), or the reason why the configuration cannot be trained on this number of ranks.
struct PlannedNeeds {
  Needs needs;
  std::optional<Finding> refusal;
};
PlannedNeeds plan_needs(const Request& request, const runner::PlannedRank& place);

/// config.ranks: the configuration cannot be trained as it is started.
Finding refusal_of(const Request& request, const base::Error& error);

/// folder.leftovers: the staged copies (an array of {"is_used", "is_kept", "bytes", ...}) that are
/// neither used nor to be kept.
Findings judge_copies(const nlohmann::json& copies, const std::string& folder,
                      const std::string& configuration);

/// launch.srun: under Slurm, whether srun --mpi=pmix can work. Runs `srun --mpi=list`.
Findings check_srun();

}  // namespace doctor
