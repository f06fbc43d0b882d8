// Copies the samples that a node's ranks need to node-local storage, once, checksummed and
// reusable.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner/base/clock.h"
#include "runner/communicator.h"
#include "staging/dataset/dataset.h"
#include "staging/folder_use.h"
#include "staging/plan.h"

namespace staging {

/// kNone: read in place. kNode: copy what the node's ranks need to node-local storage.
enum class StagingMode { kNone, kNode };

/// What happens to a node's copy after the run. A copy that was once kept, as by `trainmark stage`,
/// is not removed by a later run with kRemove.
enum class Afterwards { kRemove, kKeep };

/// Which copies are used again: kUnread trusts what their files look like, and finds a damaged
/// sample only when it is read; kVerified reads them in full first.
enum class Reuse { kUnread, kVerified };

struct StagingConfig {
  StagingMode mode = StagingMode::kNode;
  std::string directory = {};
  Afterwards afterwards = Afterwards::kRemove;
  Reuse reuse = Reuse::kUnread;
};

/// What staging did, over all nodes; the same on every rank.
struct StagingFacts {
  StagingMode mode = StagingMode::kNone;
  std::int64_t nodes = 0, reused_nodes = 0;
  std::int64_t files = 0, samples = 0, bytes = 0;  ///< copied or reused; summed over nodes
  std::int64_t source_reads = 0;                   ///< read calls on the source's storage
  double seconds = 0.0;                            ///< of the slowest node
  /// Rate of a node's copy, including reading it back; 0 when every node reused its copy.
  double bytes_per_second_min = 0.0, bytes_per_second_mean = 0.0, bytes_per_second_max = 0.0;
};
nlohmann::json to_json(const StagingFacts& facts);

struct Staged {
  /// Same indices, labels and bytes as the source. With kNode, every read is checked against the
  /// sample's XXH3; a damaged copy is replaced by the source. Reading a sample that the node did
  /// not stage throws Error(kInternal).
  std::shared_ptr<const dataset::Dataset> data;
  StagingFacts facts;
  std::string directory;           ///< of this node's staged set; empty with kNone
  std::shared_ptr<FolderUse> use;  ///< on the node's leader: keeps others from removing the set
  std::int64_t copied_bytes = 0;   ///< by this rank
};

/// The samples of a dataset that this rank needs.
struct Wanted {
  std::shared_ptr<const dataset::Dataset> source;
  Ranges ranges;
};

/// Collective over all ranks. With kNode, each rank copies its share, by bytes, into packed files
/// in config.directory and reads them back. Only a complete set of this user's is trusted: the
/// manifest is written last, and one rename publishes the set. An existing set of the same identity
/// is reused. Leftovers of dead jobs in that folder are removed first. Returns one Staged for each
/// of `sets`. Throws AgreedError before copying anything when a node has too little space for all
/// sets together; AgreedError(kStopped) when a signal tells a rank to end while it plans or copies
/// (StopSignals); otherwise DataError or SystemError naming path and offset. After a failure that
/// all ranks know, or with one rank per node, what is unfinished or not to be kept is removed.
std::vector<Staged> stage(const std::vector<Wanted>& sets, const StagingConfig& config,
                          const runner::Communicator& world, const runner::Topology& topology,
                          const base::Clock& clock);

/// Collective over the node. Ends the use of a set that nobody reads any more. Deletes the files
/// named by its manifest unless the set is kept or another run uses it.
void leave_staged(const runner::Topology& topology, std::shared_ptr<FolderUse> use);

}  // namespace staging
