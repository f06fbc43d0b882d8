// How the runs of one system vary: by their number of epochs, or by the time of an epoch.
#pragma once

#include <optional>
#include <span>

namespace analysis {

/// One run. Both members are above 0.
struct RunPoint {
  double epochs = 0.0;
  double epoch_s = 0.0;  ///< mean seconds of an epoch
};

/// The first principal component of (log10 epochs, log10 seconds of an epoch), a unit vector whose
/// larger coordinate is positive. Source: the joint analysis of MLPerf HPC v0.7 (arXiv 2110.11466).
struct Variation {
  double share = 1.0;                  ///< fraction of the variance along it
  double epochs = 0.0, epoch_s = 0.0;  ///< its coordinates
  /// Pearson's, of the two logarithms; absent if either is the same in all runs.
  std::optional<double> correlation;
};

/// Absent for fewer than three runs, as two always lie on a line; for figures without a logarithm;
/// for equal runs; and if the variance is the same in all directions.
std::optional<Variation> variation_of(std::span<const RunPoint> runs);

}  // namespace analysis
