// Chooses the N consecutive runs of M that make a result: the window with the median score.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace analysis {

/// One of the M runs.
struct GroupRun {
  std::string log;                    ///< its file name
  std::optional<double> launched_ms;  ///< since 1970; absent if the log has no date
  std::optional<double> time_s;       ///< time to train; absent (infinite) if it failed
};

/// N runs that were launched one after another.
struct RunWindow {
  std::size_t first = 0;          ///< index of its first run in RunChoice::order
  std::optional<double> score_s;  ///< olympic mean; absent (infinite) if too many failed
};

struct RunChoice {
  std::string problem;             ///< why nothing can be chosen; "" if it can
  std::size_t runs_required = 0;   ///< N
  std::vector<GroupRun> runs;      ///< in the order given
  std::vector<std::size_t> order;  ///< indices of the runs, in order of launch
  std::vector<RunWindow> windows;  ///< in the order of `first`
  /// Index of the window to submit. Absent if the median is infinite, which makes the whole result
  /// invalid, or if there is a `problem`.
  std::optional<std::size_t> chosen;
  /// Windows whose score is as near to the median as that of `chosen`, including it.
  std::vector<std::size_t> medians;

  /// Indices of the runs of the chosen window, in order of launch; empty without one.
  std::vector<std::size_t> chosen_runs() const;
  /// The first and the last window that contain the run order[place].
  std::pair<std::size_t, std::size_t> windows_with(std::size_t place) const;
};

/// REQUIRES: `runs` are in natural_less() order of their file names. This order decides between
/// equal launch times, and places logs without a date if the dates of the others agree with it. Of
/// an even number of windows the two in the middle are equally near to the median; `chosen` is the
/// slower one. Source: MLPerf training rules, Scoring (since round 1.1).
RunChoice choose_runs(std::vector<GroupRun> runs, std::size_t runs_required,
                      std::size_t dropped_each_end);

}  // namespace analysis
