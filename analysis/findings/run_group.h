// A group of M runs in a folder, of which N make a result, and the folders that hold some of its
// runs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/run_choice.h"

namespace analysis {

/// A folder whose logs are all from runs of one group.
struct PickedRuns {
  std::string folder;                 ///< its name in the report
  std::vector<std::size_t> places;    ///< indices of the runs in RunChoice::order
  std::optional<std::size_t> window;  ///< index in RunChoice::windows; absent for no window
};

struct RunGroup {
  std::string name;  ///< of the folder in the report
  std::string benchmark;
  std::vector<std::size_t> files;  ///< indices in CheckReport::files, by name
  RunChoice choice;                ///< among the runs of `files`
  std::vector<PickedRuns> picked;  ///< by folder

  /// The files of the window to submit, by launch; empty without such a window.
  std::vector<std::size_t> chosen_files() const;
  /// Whether no window makes a result.
  bool is_invalid() const { return choice.problem.empty() && !choice.chosen; }
};

}  // namespace analysis
