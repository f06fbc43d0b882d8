// Which N consecutive runs of M make a result: the window whose score is the median of all.
// Hides how runs are sorted by launch, and the median of scores that may be infinite.
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
  std::optional<double> launched_ms;  ///< since 1970; absent where the log tells no date
  std::optional<double> time_s;       ///< time to train; absent of a failed run: infinite
};

/// N runs that were launched one after another.
struct RunWindow {
  std::size_t first = 0;          ///< index of its first run in RunChoice::order
  std::optional<double> score_s;  ///< olympic mean; absent where too many runs failed: infinite
};

struct RunChoice {
  std::string problem;             ///< why nothing can be chosen; "" where it can
  std::size_t runs_required = 0;   ///< N
  std::vector<GroupRun> runs;      ///< as they were given
  std::vector<std::size_t> order;  ///< indices of the runs, the first to be launched first
  std::vector<RunWindow> windows;  ///< by their first runs
  /// Index of the window to submit. Absent where the median is infinite, so that the whole result
  /// is invalid, and with `problem`.
  std::optional<std::size_t> chosen;
  /// Windows whose score is as near to the median as that of `chosen`, which is one of them.
  std::vector<std::size_t> medians;

  /// Indices of the runs of the window to submit, by launch; none without one.
  std::vector<std::size_t> chosen_runs() const;
  /// The first and the last window with the run at a place in `order`.
  std::pair<std::size_t, std::size_t> windows_with(std::size_t place) const;
};

/// `runs` in the order of their file names, numbers by value, which decides between equal times of
/// launch; and about logs without a date, where the dates of the others follow it. Of an even
/// number of windows the two in the middle are equally near to the median: `chosen` is the slower
/// one. Source: MLPerf training rules, Scoring (since round 1.1).
RunChoice choose_runs(std::vector<GroupRun> runs, std::size_t runs_required,
                      std::size_t dropped_each_end);

}  // namespace analysis
