// A set of samples on a node, from what earlier runs left of it to its end.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/communicator.h"
#include "staging/bring.h"
#include "staging/dataset/dataset.h"
#include "staging/folder_use.h"
#include "staging/plan.h"
#include "staging/staging_config.h"
#include "staging/staging_facts.h"
#include "staging/stored_dataset.h"
#include "staging/wanted.h"

namespace staging {

/// A set as it is on this rank's node.
struct StagedSet {
  std::shared_ptr<StoredDataset> data;  ///< null: not all of it was copied
  StagingFacts facts;
  std::shared_ptr<FolderUse> use;  ///< on the node's leader: keeps others from removing the copy
  Moved mine;
  std::int64_t memory_bytes = 0;  ///< Transfer::memory_bytes
};

/// A set that exists, as the leader of its node sees it.
struct Existing {
  std::shared_ptr<FolderUse> use;  ///< null: there is none to use
  std::string damage;              ///< of the first pack that has to be copied anew; else ""
};

/// Collective over the node. Returns, on the leader, what exists of the sets of `plans`, whose
/// `missing` and `free_bytes` are brought up to date. Removes what dead jobs left, to free its
/// space.
std::vector<Existing> use_what_is_there(std::vector<StagingPlan>& plans,
                                        const StagingConfig& config,
                                        const runner::Topology& topology);

/// Collective over all ranks. Throws AgreedError naming the nodes whose folder has too little space
/// for what their plans miss.
void agree_on_space(const std::vector<StagingPlan>& plans, const std::string& directory,
                    const runner::Communicator& world, const runner::Topology& topology);

/// Collective over the node: makes the folder of the set, or goes on with the one that exists.
/// `staged` receives its use and its data, of which no pack has arrived. Returns where packs go.
PackStore begin_or_go_on(const std::shared_ptr<const dataset::Dataset>& source,
                         const StagingPlan& plan, const Existing& existing,
                         const StagingConfig& config, const runner::Topology& topology,
                         StagedSet& staged);

/// Collective over the node, when its ranks have moved all that they can: writes down that the set
/// is whole. If it is not, takes what is not there out of `plan`, and returns its bytes. What the
/// disk refuses is noted in `data`: the run needs none of it.
std::int64_t conclude(StagingPlan& plan, const PackStore& store, const runner::Topology& topology,
                      StoredDataset& data);

/// Removes what is unfinished or not to be kept. Not collective: other ranks may not get here.
void end_uses(std::vector<StagedSet>& staged) noexcept;

}  // namespace staging
