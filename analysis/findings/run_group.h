// The M runs of a folder of which N make a result, and the folders that hold some of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/run_choice.h"

namespace analysis {

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

}  // namespace analysis
