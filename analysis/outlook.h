// Predicts when a run in progress reaches its target: from earlier runs, else from its own curve.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "analysis/facts.h"

namespace analysis {

/// Seconds from run_start to the target.
struct Outlook {
  std::string basis;  ///< "5 earlier runs of this folder", "its last 6 evaluations"
  double end_s = 0.0;
  /// 95 % interval of the end. Both are absent with a single earlier run; high_s is absent if the
  /// interval has no end.
  std::optional<double> low_s, high_s;
};

/// A run of the same kind that reached its target.
struct EarlierRun {
  double epochs_to_target = 0.0, ttt_s = 0.0;
};

/// How far a run in progress is.
struct Standing {
  double elapsed_s = 0.0;      ///< since run_start
  double staging_s = 0.0;      ///< of elapsed_s
  double epochs_done = 0.0;    ///< of the whole run; 0 if unknown
  double epochs_before = 0.0;  ///< of them, before the log of a resumed run began

  /// Seconds per epoch, including evaluations but not staging; absent while no epochs are done.
  std::optional<double> pace_s() const;
};

/// Predicts from the epochs of `earlier` runs at the pace of this run; without a pace, from their
/// times, unless this run was resumed. If this run has already taken longer than that prediction,
/// or there is none, extrapolates a straight line through its last 3 to 8 evaluations over time.
/// Absent if there are fewer than 3, or if the line does not lead to the target.
std::optional<Outlook> outlook_of(const RunFacts& facts, const Standing& standing,
                                  std::span<const EarlierRun> earlier);

}  // namespace analysis
