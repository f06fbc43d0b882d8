// What staging would copy to a node, and whether it fits.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner/communicator.h"
#include "staging/dataset/dataset.h"
#include "staging/pack_list.h"
#include "staging/ranges.h"

namespace staging {

/// Collective over the node. The union of the ranges that its ranks need.
Ranges needed_on_node(const Ranges& mine, const runner::Communicator& node);

/// Collective over the node. The values of its rank 0.
std::vector<std::int64_t> broadcast_numbers(const runner::Communicator& node,
                                            const std::vector<std::int64_t>& values);

/// What staging would do on one node; the same on all of its ranks.
struct StagingPlan {
  std::string directory;  ///< of the staged set: <directory>/<dataset>-<identity>[-<uid>]
  std::string identity;   ///< PackList::identity()
  std::shared_ptr<const PackList> list;
  std::vector<std::int64_t> packs;      ///< with the samples that the node's ranks need, ascending
  std::vector<std::int64_t> missing;    ///< of these, those that are not in the directory
  std::int64_t samples = 0, bytes = 0;  ///< of the packs, as files have their samples
  std::int64_t copy_bytes = 0;          ///< the most that their samples take in the copy: expanded
  std::int64_t free_bytes = 0;          ///< that may still be written to the directory
  bool is_in_memory = false;            ///< the directory is on a tmpfs: staged bytes take memory

  /// Whether there is nothing to copy.
  bool is_staged() const { return missing.empty(); }
  /// Of all packs.
  std::int64_t bytes_on_disk() const;
  /// How much of free_bytes a copy of the missing packs takes.
  std::int64_t bytes_to_write() const;
  /// Plans without the packs `numbers`, ascending.
  void leave_out(const std::vector<std::int64_t>& numbers);
};

/// Whether the sets of `plans`, all of one node and one directory, fit together.
bool fit_together(const std::vector<StagingPlan>& plans);

/// The plan in the form that dry runs print.
nlohmann::json to_json(const StagingPlan& plan);

/// Collective over all ranks. `ranges`: the samples that this rank needs. Reads size and time of
/// each sample of the dataset once in the job (list_packs()); writes nothing. Throws SystemError,
/// also for a `directory` that others may write to, ConfigError for ranges beyond the dataset,
/// AgreedError for a sample that cannot be examined, and AgreedError(kStopped) when a signal tells
/// a rank to end meanwhile.
StagingPlan plan_staging(const dataset::Dataset& source, const Ranges& ranges,
                         const runner::Communicator& world, const runner::Topology& topology,
                         const std::string& directory,
                         Compressed compressed = Compressed::kExpanded);

}  // namespace staging
