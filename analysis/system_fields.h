// Every figure of a set of runs on one system: its name, unit, definition, and where it is read.
#pragma once

#include <vector>

#include "analysis/fields.h"
#include "analysis/systems.h"

namespace analysis {

/// The figures of one system's runs of one benchmark.
const std::vector<Field<SystemFacts>>& system_fields();

}  // namespace analysis
