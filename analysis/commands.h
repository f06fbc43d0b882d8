// The commands of the analysis half.
// Hides their options.
#pragma once

#include <vector>

#include "runner/base/command.h"

namespace analysis {

/// analyze: the only one so far. Needs no ranks.
std::vector<base::Command> commands();

}  // namespace analysis
