// Table of the figures of a set of runs on one system: name, unit, definition and getter of each.
#pragma once

#include <vector>

#include "analysis/fields.h"
#include "analysis/systems.h"

namespace analysis {

/// The figures of one system's runs of one benchmark.
const std::vector<Field<SystemFacts>>& system_fields();

}  // namespace analysis
