// Every figure of one log: its name, unit, definition, and where it is read.
#pragma once

#include <vector>

#include "analysis/facts.h"
#include "analysis/fields.h"

namespace analysis {

/// The figures of one log, in the order they are shown.
const std::vector<Field<RunFacts>>& run_fields();

}  // namespace analysis
