// What a log of this program says about its staging: metadata of staging_stop, a set of samples
// each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/mllog/python_json.h"

namespace analysis {

/// A figure of several nodes. Logs of earlier versions lack some of these.
struct NodeExtent {
  std::optional<double> min, median, mean, max;
};

/// One of the nodes that copied at the lowest rate.
struct SlowNode {
  std::string host;
  double seconds = 0.0, bytes_per_second = 0.0;
};

/// What staging did for a set, over all nodes; staged_fields() has the definitions. Absent figures
/// are not in the log, or not such as this program writes.
struct StagedSet {
  std::string name, mode;
  std::optional<std::int64_t> nodes, reused_nodes, packs, samples, bytes;
  std::optional<std::int64_t> resumed_bytes, source_reads, source_bytes, network_bytes,
      written_bytes, direct_bytes, memory_bytes;
  std::optional<bool> overlaps;
  std::optional<std::int64_t> left_bytes;
  std::optional<double> planning_s, imbalance;
  NodeExtent seconds, bytes_per_second;
  std::vector<SlowNode> slowest;  ///< the lowest rate first

  /// Whether its samples were copied, not read in place.
  bool is_copied() const { return mode != "stream"; }
};

/// What of the data's files was in the nodes' page caches when staging began. Absent figures are
/// not in the log, or unknown; run_fields() has the definitions.
struct WarmData {
  std::optional<std::int64_t> nodes, known_nodes, files, files_by_mincore, files_by_reading, bytes,
      looked_at_bytes;
  NodeExtent share;  ///< 0 to 1; no median
  std::string warmest;
  std::string unknown;  ///< what is, and why; "" if nothing

  bool is_told() const { return nodes.has_value(); }
  std::optional<std::int64_t> looked_at_files() const;
  /// Of the bytes of all files, taking those not looked at to be as large as the others.
  std::optional<double> looked_at_percent() const;
  /// "mincore", "reads that do not wait", both, or "" if nothing was looked at.
  std::string looked_at_by() const;
};

/// "0.0 to 8.3 % (most on node7), ..."; "" if the log does not tell.
std::string warm_text(const WarmData& warm);

/// "node7 41 MB/s, node3 60.2 MB/s"; "" if no node copied.
std::string slowest_text(const StagedSet& set);

/// "train was copied while training; 12 MiB were not copied", for a set that overlaps.
std::string overlap_text(const StagedSet& set);

struct StagedSets {
  std::vector<StagedSet> sets;
  WarmData warm;
  /// What is wrong with the metadata: "/staging/train/bytes: expected ..., got ...".
  std::vector<std::string> problems;

  /// The first of them, and how many more there are; "" if there is none.
  std::string problem() const;
};

/// Reads metadata.staging of staging_stop, which may be absent or hold anything. Members without a
/// mode are no sets.
StagedSets staged_sets(mllog::JsonText staging);

}  // namespace analysis
