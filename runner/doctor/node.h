// The examination of one node by itself: needs no MPI.
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

/// What is asked for on the command line.
struct Request {
  const runner::ConfigSource* source = nullptr;  ///< null: no configuration
  bool quick = false;                            ///< no rates
  std::int64_t planned_node_ranks = 0;           ///< 0: those that were started
  std::int64_t job_root = 0;                     ///< the process below which the job's ones are
  std::function<nlohmann::json()> libraries;
  /// CommandParts::staged_copies; may be null.
  std::function<nlohmann::json(const std::string& folder)> staged_copies;
};

/// What a node's first rank has looked at.
class Node {
 public:
  /// Looks, and says by `stage` at what.
  Node(const Request& request, const LaunchFacts& launch, const Environment& environment,
       const std::function<void(const std::string&)>& stage);

  /// Judges it for this number of ranks and threads; again once MPI has told them.
  Findings judge(const runner::PlannedRank& place) const;
  Needs needs(const runner::PlannedRank& place) const;
  /// The place of a rank as launcher and environment tell it before MPI starts.
  runner::PlannedRank expected_place() const;
  const HostFacts& host() const { return host_; }
  /// Memory that is there to be measured with.
  std::int64_t memory_available() const;
  /// What should be the same on all nodes: {"revision", "libraries", "cpu_model", ...}.
  nlohmann::json alike_facts() const;

 private:
  const Request& request_;
  const LaunchFacts& launch_;
  const Environment& environment_;
  HostFacts host_;
  Findings looked_;  ///< verdicts that no number of ranks changes
};

/// needs(), or the reason why the configuration cannot be trained on that number of ranks.
struct PlannedNeeds {
  Needs needs;
  std::optional<Finding> refusal;
};
PlannedNeeds plan_needs(const Request& request, const runner::PlannedRank& place);

/// folder.leftovers: of the staged copies (an array of {"is_used", "is_kept", "bytes", ...}) those
/// that no run uses and nobody wants kept.
Findings judge_copies(const nlohmann::json& copies, const std::string& folder,
                      const std::string& configuration);

/// launch.srun: under Slurm, whether srun --mpi=pmix can work. Starts `srun --mpi=list`.
Findings check_srun();

}  // namespace doctor
