// Audit of a run before it starts, by rules that no rule file of MLCommons has.
#pragma once

#include <istream>
#include <vector>

#include "analysis/audit_rules.h"

namespace analysis {

/// `log`: the records that the run would write; their times mean nothing. Reports only findings
/// that the configuration decides: hyperparameters, sizes of datasets, distances of evaluations,
/// target, placeholders. An error breaks the rules of the division; other findings do not.
std::vector<Finding> audit_planned_log(std::istream& log);

}  // namespace analysis
