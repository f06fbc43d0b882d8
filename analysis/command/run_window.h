// Which runs of a folder go into a package, where it holds a group of M.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/command/run_set_folder.h"

namespace analysis::command {

/// One of `note` and `refusal` is "".
struct RunWindow {
  RunSetFolder folder;  ///< with the runs of the window to submit; as it was given after a refusal
  std::string note;
  std::string refusal;
};

/// The window that `trainmark check --runs M` names; `expected` is M.
RunWindow window_of(const RunSetFolder& folder, std::int64_t expected);

}  // namespace analysis::command
