// Table of the figures of one log: name, unit, definition and getter of each.
#pragma once

#include <vector>

#include "analysis/facts.h"
#include "analysis/fields.h"

namespace analysis {

/// The figures of one log, in the order in which they are shown.
const std::vector<Field<RunFacts>>& run_fields();

}  // namespace analysis
