// What staging would copy to a node, and whether it fits.
// Hides how ranks agree on it and how work is divided by bytes.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runner/communicator.h"
#include "staging/dataset/dataset.h"

namespace staging {

/// Half-open ranges of dataset indices.
using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Sorted, without overlap or gap of nothing between neighbours.
Ranges merged(Ranges ranges);

/// What staging would do on one node; the same on all of its ranks.
struct StagingPlan {
  std::string directory;  ///< of the staged set: <directory>/<dataset>-<identity>
  std::string identity;   ///< hash of source path, samples, their sizes and times, and the ranges
  Ranges ranges;          ///< what the node's ranks need together
  std::int64_t samples = 0, bytes = 0;
  std::int64_t free_bytes = 0;  ///< that may still be written to the directory
  bool is_in_memory = false;    ///< a tmpfs: staged bytes count against memory
  bool is_staged = false;       ///< a whole staged set of this identity is there already
  /// Where the part of each rank of the node begins among the needed samples; then the end.
  std::vector<std::int64_t> shares;

  std::int64_t bytes_on_disk() const;
  /// What copying it takes of free_bytes.
  std::int64_t bytes_to_write() const { return is_staged ? 0 : bytes_on_disk(); }
  /// Dataset indices of positions [first, last) among the needed samples.
  std::vector<std::int64_t> indices(std::int64_t first, std::int64_t last) const;
};

/// Whether the sets of `plans`, all of one node and one directory, fit side by side.
bool fit_together(const std::vector<StagingPlan>& plans);

/// The plan as dry runs show it.
nlohmann::json to_json(const StagingPlan& plan);

/// Collective over the node. `ranges`: what this rank needs. Looks once at each needed sample's
/// size and time, the ranks of the node sharing that work; writes nothing. Throws DataError,
/// SystemError, and ConfigError for ranges beyond the dataset.
StagingPlan plan_staging(const dataset::Dataset& source, const Ranges& ranges,
                         const runner::Topology& topology, const std::string& directory);

}  // namespace staging
