// How the runs of one system differ: by the epochs they took, or by the time that an epoch took.
// Hides the decomposition.
#pragma once

#include <optional>
#include <span>

namespace analysis {

/// One run: both above 0.
struct RunPoint {
  double epochs = 0.0;
  double epoch_s = 0.0;  ///< mean seconds of an epoch
};

/// The first principal component of (log10 epochs, log10 seconds of an epoch), a unit vector whose
/// larger part is positive. Source: the joint analysis of MLPerf HPC v0.7 (arXiv 2110.11466).
struct Variation {
  double share = 1.0;                  ///< of the variance that lies along it
  double epochs = 0.0, epoch_s = 0.0;  ///< its parts
  /// Pearson's, of the two logarithms; absent where either is the same in all runs.
  std::optional<double> correlation;
};

/// Nothing for fewer than three runs, as two always lie on a line, for figures that have no
/// logarithm, for runs that are equal, and where no direction varies more than another.
std::optional<Variation> variation_of(std::span<const RunPoint> runs);

}  // namespace analysis
