// Table of the figures of a staged set: name, unit, definition and getter of each.
#pragma once

#include <vector>

#include "analysis/fields.h"
#include "analysis/staging_facts.h"

namespace analysis {

/// The figures of one set, in the order in which they are shown.
const std::vector<Field<StagedSet>>& staged_fields();

/// Of StagedSet::slowest.
const char* slowest_definition();

}  // namespace analysis
