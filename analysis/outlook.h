// When a run that goes on will reach its target: by runs before it, else by its own curve.
// Hides regression and intervals.
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
  /// 95 %: where the next such run, or the curve, is expected; absent where one run is all there
  /// is, or the end is open.
  std::optional<double> low_s, high_s;
};

/// A run of the same kind that reached its target.
struct EarlierRun {
  double epochs_to_target = 0.0, ttt_s = 0.0;
};

/// Where a run that goes on stands.
struct Standing {
  double elapsed_s = 0.0;      ///< since run_start
  double staging_s = 0.0;      ///< of it
  double epochs_done = 0.0;    ///< of the whole run; 0 where that is not known
  double epochs_before = 0.0;  ///< of them, before the log of a resumed run began

  /// Seconds of an epoch, evaluations and all else included; nothing before the first.
  std::optional<double> pace_s() const;
};

/// By the epochs of `earlier` at the pace of this run (before its first, by their times; not so for
/// a resumed one), where this run has not outlived what is expected of them; else by a straight
/// line through its last evaluations over time. Nothing where these do not tell: fewer than 3, or
/// no way towards the target.
std::optional<Outlook> outlook_of(const RunFacts& facts, const Standing& standing,
                                  std::span<const EarlierRun> earlier);

}  // namespace analysis
