// Estimates how often a set that converges like the reference passes the RCP test, from sets drawn
// from the reference's own runs (bootstrap).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/submission/reference_curve.h"

namespace analysis::submission {

/// The number of sets that are drawn.
inline constexpr std::int64_t kBootstrapSets = 10000;

/// Means are those of the RCP test: without the fastest and the slowest runs.
struct Bootstrap {
  struct Quantile {
    double share = 0.0;
    double mean = 0.0;  ///< the least drawn mean that at least `share` of the sets do not exceed
  };
  struct Bin {
    double from = 0.0, to = 0.0;  ///< means in [from, to)
    std::int64_t sets = 0, failing = 0;
  };

  ConvergencePoint point;           ///< its least mean decides, even if it is pruned
  std::int64_t reference_runs = 0;  ///< drawn from, with replacement
  std::int64_t runs_per_set = 0;    ///< as many as a submission needs
  std::int64_t sets = kBootstrapSets;
  std::uint64_t seed = 0;
  double mean = 0.0, stdev = 0.0;     ///< of the sets' means; stdev divides by their number
  std::array<Quantile, 5> quantiles;  ///< of the sets' means: 1, 5, 50, 95 and 99 %
  std::int64_t failing_sets = 0;      ///< with a mean below point.least_mean
  std::vector<Bin> histogram;         ///< rising, without gaps

  /// Share of the sets that fail, and that pass.
  double failing() const { return static_cast<double>(failing_sets) / static_cast<double>(sets); }
  double passing() const {
    return static_cast<double>(sets - failing_sets) / static_cast<double>(sets);
  }
  /// Standard error of either share as an estimate of the probability, by the binomial
  /// distribution.
  double standard_error() const;
};

/// Depends on the runs and the seed only. Throws ConfigError if `set` has no runs at that batch
/// size (an interpolated point has none to draw), or if they are too long to be added up.
Bootstrap bootstrap(const ReferenceSet& set, RcpEra era, double batch_size, std::uint64_t seed);

}  // namespace analysis::submission
