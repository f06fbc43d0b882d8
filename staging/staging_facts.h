// What staging a set did, for the log and for reports.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "runner/communicator.h"
#include "staging/plan.h"
#include "staging/staging_config.h"

namespace staging {

/// What one rank did for a set.
struct RankEffort {
  std::int64_t source_reads = 0;   ///< read calls on the source's storage
  std::int64_t source_bytes = 0;   ///< read from there
  std::int64_t network_bytes = 0;  ///< sent to other nodes
  std::int64_t written_bytes = 0;  ///< to the node's storage, with checksums
  std::int64_t direct_bytes = 0;   ///< of these, around the page cache
  std::int64_t memory_bytes = 0;   ///< that its node could take for samples on their way
  double planning_s = 0.0;         ///< for examining the set, and what there is of it
  double copying_s = 0.0;          ///< until the node could read it, without a wait for other nodes
};

/// What one node copied of a set.
struct NodeCopy {
  std::string host;
  std::int64_t bytes = 0;  ///< of samples; 0: all was there
  double seconds = 0.0;

  /// Bytes per second; 0 for a node that copied nothing.
  double rate() const;
};

/// How the nodes' copies of a set differ.
struct NodeSpread {
  double seconds_min = 0.0, seconds_median = 0.0, seconds_max = 0.0;  ///< over all nodes
  /// Bytes per second, over the nodes that copied; 0 when every node had all.
  double rate_min = 0.0, rate_median = 0.0, rate_mean = 0.0, rate_max = 0.0;
  double imbalance = 0.0;             ///< largest / mean bytes over all nodes; 0: none copied
  std::vector<NodeCopy> slowest;      ///< of those that copied; the lowest rate first, at most 3
  std::int64_t far_below_median = 0;  ///< nodes that remark_on_slow_nodes() is about
};
NodeSpread spread_of(std::span<const NodeCopy> nodes);

/// For people: names the nodes that copied at less than half of the median rate, and the number of
/// those beyond `slowest`. Copies that took less than a second say nothing about a node.
std::vector<std::string> remarks_on_slow_nodes(const NodeSpread& spread);

/// What staging a set did, over all nodes; the same on every rank.
struct StagingFacts {
  StagingMode mode = StagingMode::kStream;
  std::int64_t nodes = 0, reused_nodes = 0;        ///< reused: nothing had to be copied
  std::int64_t packs = 0, samples = 0, bytes = 0;  ///< copied or found; summed over nodes
  /// Of `bytes`, what was there already on nodes that copied the rest.
  std::int64_t resumed_bytes = 0;
  bool overlaps = false;        ///< copying went on beside training
  std::int64_t left_bytes = 0;  ///< of samples that were to be copied, and were not
  /// Bytes and reads of all ranks; memory of the node that took most, seconds of the slowest.
  RankEffort effort;
  NodeSpread spread;

  /// Collective over all ranks. Copying went on beside training, and left `node_left_bytes` of this
  /// node uncopied.
  void set_overlap(std::int64_t node_left_bytes, const runner::Communicator& world,
                   const runner::Topology& topology);
};
nlohmann::json to_json(const StagingFacts& facts);

/// Collective over all ranks. Sums over nodes, each of which followed `plan`. Rank 0 takes memory
/// by the number of nodes.
StagingFacts facts_of(StagingMode mode, const StagingPlan& plan, const RankEffort& effort,
                      const runner::Communicator& world, const runner::Topology& topology);

}  // namespace staging
