// The commands of the analysis half.
// Hides their options.
#pragma once

#include <vector>

#include "runner/base/command.h"

namespace analysis::command {

/// analyze, check, compare, history, status, package. They need no ranks.
std::vector<base::Command> commands();

}  // namespace analysis::command
