// What MLPerf asks of each benchmark: the quality that ends a run, and how its logs count epochs.
// Hides the table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace analysis {

enum class Direction { kRises, kFalls };

/// What a benchmark's logs mean by epoch_num.
enum class EpochMeaning {
  kOrdinal,   ///< the number of an epoch, from 0 or 1
  kFraction,  ///< passes over the data so far, with fractions (DLRM, DLRM-DCNv2)
  kSamples    ///< samples so far (OpenFold)
};

/// The quality that ends a run.
struct QualityTarget {
  std::string metric;  ///< the log key of its evaluations
  Direction direction = Direction::kRises;
  std::optional<double> value;  ///< absent: neither the log nor the table gives one
  bool from_log = false;        ///< the log's own quality_target rather than the table's

  bool met_by(double quality) const;
  /// The better of two qualities; a NaN loses.
  double better(double one, double other) const;
};

/// One row of the table. Source: training_policies and hpc_training_rules, the rounds v0.7 to v6.0.
struct Benchmark {
  std::string_view name;  ///< submission_benchmark
  std::string_view metric;
  Direction direction;
  double target;
  std::int64_t runs_required;
  EpochMeaning epoch_meaning;
};

/// Null for a name that is not in the table.
const Benchmark* find_benchmark(std::string_view name);

}  // namespace analysis
