// Copies to nodes what they miss of a set.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runner/communicator.h"
#include "staging/dataset/dataset.h"
#include "staging/pack_store.h"
#include "staging/pipeline.h"
#include "staging/plan.h"
#include "staging/staging_config.h"

namespace staging {

/// What one rank moves of a set, and how.
struct Transfer {
  std::shared_ptr<const dataset::Dataset> source;
  std::shared_ptr<const PackList> list;
  PackStore store;
  Route route;  ///< without packs if this rank moves none
  PipelineLimits limits;
  Writing writing;

  std::int64_t bytes() const;  ///< of the route's samples
};

/// How a node moves what it misses of all sets.
struct NodeLoad {
  /// The same for each set: beside training, ranks of the node may be at different ones.
  NodeLimits limits;
  std::int64_t bytes_to_write = 0;
};
/// Collective over all ranks. Of the packs that `plans`, those of this node, miss. In scatter mode
/// as many ranks move packs on each node. Throws AgreedError for too small a config.memory_bytes.
NodeLoad load_of(const std::vector<StagingPlan>& plans, const StagingConfig& config,
                 const runner::Communicator& world, const runner::Topology& topology);

/// Collective over all ranks. What this rank moves of the packs that `plan` misses, to `store`.
Transfer transfer_of(std::shared_ptr<const dataset::Dataset> source, const StagingPlan& plan,
                     const PackStore& store, const StagingConfig& config, const NodeLoad& load,
                     const runner::Communicator& world, const runner::Topology& topology);

/// Collective over the transfer's ring. Whether all was moved: false when this rank, or one that it
/// works with, was told to end. Either way, and if it throws, `moved` tells what was. Throws
/// DataError and SystemError.
bool move_all(const Transfer& transfer, const Watch& watch, Moved& moved);

}  // namespace staging
