// Brings the samples that a node's ranks need near, once, checked and reusable.
// Hides plan, packed files, checksums, manifest and reuse.
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

/// kNone: read in place. kNode: a node-local copy of what the node's ranks need.
enum class StagingMode { kNone, kNode };

/// What becomes of a node's copy after the run. One that is kept, as by `trainmark stage`, stays
/// when a run that does not keep its copies has used it.
enum class Afterwards { kRemove, kKeep };

/// What staging did, over all nodes; the same on every rank.
struct StagingFacts {
  StagingMode mode = StagingMode::kNone;
  std::int64_t nodes = 0, reused_nodes = 0;
  std::int64_t files = 0, samples = 0, bytes = 0;  ///< now near, copied or reused; sums over nodes
  std::int64_t source_reads = 0;                   ///< read calls on the source's storage
  double seconds = 0.0;                            ///< of the slowest node
  /// Of a node's copy, reading back included; 0 when every node reused.
  double bytes_per_second_min = 0.0, bytes_per_second_mean = 0.0, bytes_per_second_max = 0.0;
};
nlohmann::json to_json(const StagingFacts& facts);

struct Staged {
  /// Same indices, labels and bytes as the source. With kNode every read is checked against its
  /// XXH3, and reading a sample that the node did not stage throws Error(kInternal).
  std::shared_ptr<const dataset::Dataset> data;
  StagingFacts facts;
  std::string directory;           ///< of this node's staged set; empty with kNone
  std::shared_ptr<FolderUse> use;  ///< on the node's leader: nobody removes the set meanwhile
  std::int64_t copied_bytes = 0;   ///< by this rank
};

/// What this rank needs of a dataset.
struct Wanted {
  std::shared_ptr<const dataset::Dataset> source;
  Ranges ranges;
};

/// Collective over all ranks. With kNode each rank copies its share, by bytes, into packed files in
/// `directory` and reads them back. A set is trusted only when it is whole: the manifest comes
/// last, and one rename makes the set visible. One of the same identity is used again. What dead
/// jobs left in `directory` is removed before. Returns one Staged for each of `sets`. Throws
/// AgreedError before the first byte when a node has too little space for all of them together,
/// AgreedError(kStopped), leaving nothing behind that was not to be kept, when a signal asks a rank
/// to end while it copies (StopSignals), else DataError or SystemError naming path and offset.
std::vector<Staged> stage(const std::vector<Wanted>& sets, StagingMode mode,
                          const std::string& directory, Afterwards afterwards,
                          const runner::Communicator& world, const runner::Topology& topology,
                          const base::Clock& clock);

/// Collective over the node. Ends the use of a set, whose data nobody reads any more: unless it is
/// kept, or another run uses it, what its manifest names is deleted.
void leave_staged(const runner::Topology& topology, std::shared_ptr<FolderUse> use);

}  // namespace staging
