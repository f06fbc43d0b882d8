// The commands that analyse logs, and their options.
#pragma once

#include <vector>

#include "runner/base/command.h"

namespace analysis::command {

/// analyze, check, compare, history, status, package. None needs MPI.
std::vector<base::Command> commands();

}  // namespace analysis::command
