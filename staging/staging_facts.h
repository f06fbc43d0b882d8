// What staging a set did, for the log and for reports.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "runner/communicator.h"
#include "staging/plan.h"
#include "staging/staging_config.h"

namespace staging {

/// What staging did, over all nodes; the same on every rank.
struct StagingFacts {
  StagingMode mode = StagingMode::kStream;
  std::int64_t nodes = 0, reused_nodes = 0;
  std::int64_t files = 0, samples = 0, bytes = 0;  ///< copied or reused; summed over nodes
  std::int64_t source_reads = 0;                   ///< read calls on the source's storage
  double seconds = 0.0;                            ///< of the slowest node
  /// Rate of a node's copy, including reading it back; 0 when every node reused its copy.
  double bytes_per_second_min = 0.0, bytes_per_second_mean = 0.0, bytes_per_second_max = 0.0;
};
nlohmann::json to_json(const StagingFacts& facts);

/// What one rank did for a set.
struct RankEffort {
  std::int64_t source_reads = 0;
  double seconds = 0.0;  ///< for planning and copying the set
};

/// Collective over all ranks. Sums over nodes, each of which followed `plan`.
StagingFacts facts_of(StagingMode mode, const StagingPlan& plan, const RankEffort& effort,
                      const runner::Communicator& world, const runner::Topology& topology);

}  // namespace staging
