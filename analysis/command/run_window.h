// The runs of a group of M that go into a package.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/command/run_set_folder.h"

namespace analysis::command {

/// Either `note` or `refusal` is "".
struct RunWindow {
  RunSetFolder folder;  ///< with the runs of the window to submit; unchanged after a refusal
  std::string note;
  std::string refusal;
};

/// The window that `trainmark check --runs M` names; `expected` is M.
RunWindow window_of(const RunSetFolder& folder, std::int64_t expected);

}  // namespace analysis::command
