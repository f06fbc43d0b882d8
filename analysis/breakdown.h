// Where a run's time went, from its log or from its telemetry file, in one form.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts.h"
#include "analysis/stragglers.h"

namespace analysis {

/// One exclusive part of a run. Minimum, mean and maximum are over the ranks with telemetry; from
/// a log alone, all three are equal.
struct Part {
  std::string name;
  std::string definition;
  double min_s = 0.0, mean_s = 0.0, max_s = 0.0;
  std::optional<double> percent;          ///< mean_s in percent of the mean wall time
  std::optional<int> min_rank, max_rank;  ///< ranks with min_s and max_s
};

struct Breakdown {
  double wall_s = 0.0;  ///< mean over the ranks
  std::vector<Part> parts;
};

/// A quantity that every rank reports; `name` ends in its unit, if it has one.
struct Quantity {
  std::string name;
  std::string definition;
  double min = 0.0, mean = 0.0, max = 0.0;
  std::optional<double> sum;  ///< over the ranks, if a sum is meaningful
};

/// One rank's seconds, in the order of the subsystems.
struct RankParts {
  int rank = 0;
  std::string host;
  std::vector<double> seconds;
};

/// Number of training steps of all ranks that took at least low_s and less than high_s.
struct StepCount {
  double low_s = 0.0, high_s = 0.0;
  std::int64_t steps = 0;
};

/// Samples and bytes that all ranks read while training and evaluating, by where they were.
struct SampleLevels {
  std::int64_t copy_samples = 0, copy_bytes = 0;
  std::int64_t source_samples = 0, source_bytes = 0;
  std::int64_t repaired_samples = 0;
};

/// The same of caches, in which samples are kept while training, encoded or decoded.
struct CacheLevels {
  std::int64_t memory_samples = 0, memory_bytes = 0;  ///< of the rank's own
  std::int64_t disk_samples = 0, disk_bytes = 0;
  std::int64_t peer_samples = 0, peer_bytes = 0;  ///< of other ranks'

  /// Whether a cache gave any sample.
  bool is_used() const { return memory_samples > 0 || disk_samples > 0 || peer_samples > 0; }
};

/// Content of the telemetry file next to a log.
struct RunTelemetry {
  std::int64_t ranks = 0;
  Breakdown subsystems;
  std::vector<RankParts> by_rank;
  std::vector<StepCount> step_histogram;               ///< ascending; empty if the file has none
  std::vector<Quantity> quantities;                    ///< counters, step durations, peak memory
  std::optional<SampleLevels> levels;                  ///< absent in files of earlier versions
  std::optional<CacheLevels> cache;                    ///< likewise
  Waiting waiting;                                     ///< for which ranks others waited
  double longest_wall_s = 0.0, shortest_wall_s = 0.0;  ///< of the ranks
  std::optional<double> overhead_fraction;             ///< cost of measuring / the run's time
  std::string provenance_json;                         ///< machine and build, as in the file
  std::vector<std::pair<std::string, std::string>> provenance;  ///< the same, flat: path, value

  /// Of all samples read, those of evaluations included, which are not cached, the part that caches
  /// gave. Absent if the file does not tell it.
  std::optional<double> cached_fraction() const;
};

/// The run's time by its log's records: staging, train, eval, other; absent parts are left out.
/// train and eval are one part if they overlap. Absent without a run window.
std::optional<Breakdown> log_breakdown(const RunFacts& facts);

}  // namespace analysis
