// The M runs of a folder of which N make a result, and the folders that hold some of them.
// Hides which runs count as failed, and how picked runs are recognised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/run_choice.h"

namespace analysis::report {

struct CheckedFile;
struct CheckReport;

/// A folder whose logs are all of runs of one group.
struct PickedRuns {
  std::string folder;                 ///< its name in the report
  std::vector<std::size_t> places;    ///< of the runs in RunChoice::order
  std::optional<std::size_t> window;  ///< of RunChoice::windows; absent where the runs are none
};

struct RunGroup {
  std::string name;  ///< of the folder in the report
  std::string benchmark;
  std::vector<std::size_t> files;  ///< of CheckReport::files, by name
  RunChoice choice;                ///< its runs are `files`
  std::vector<PickedRuns> picked;  ///< by folder

  /// The files of the window to submit, by launch; none where there is none.
  std::vector<std::size_t> chosen_files() const;
  /// Whether no window makes a result.
  bool is_invalid() const { return choice.problem.empty() && !choice.chosen; }
};

/// Which of these runs make a result. All are of one folder, by name.
RunChoice choose_among(std::span<const CheckedFile* const> runs);

/// Makes a group of each folder of `report`: of one with another number of logs than `expected` (M)
/// its choice has a problem, unless all its logs are of runs of a group. Those of pruned results
/// and of throughput runs are left out. Warnings about picked runs that are not the window to
/// submit go to the report's sets.
void add_run_groups(CheckReport& report, std::int64_t expected);

/// What the RCP test of the window to submit scales its score by; 1 where it did not pass, or was
/// not made.
double normalization_of(const CheckReport& report, const RunGroup& group);

/// Whether a log is judged with its group, which forgives failed runs, and not by itself.
bool is_of_group(const CheckReport& report, const CheckedFile& file);
/// Whether a log, one of report.files, is of a group with a window to submit, but not in that.
bool is_left_out(const CheckReport& report, const CheckedFile& file);

}  // namespace analysis::report
