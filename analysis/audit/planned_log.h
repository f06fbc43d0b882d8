// What a planned run would break of the rules that no rule file holds.
// Hides which audits mean anything before a run.
#pragma once

#include <istream>
#include <vector>

#include "analysis/audit_rules.h"

namespace analysis {

/// `log`: the records of a run as it would go, whose times mean nothing. Only what its
/// configuration decides: hyperparameters, sizes of datasets, when it is evaluated and for what
/// target, and placeholders. An error breaks the rules of the division; other findings do not.
std::vector<Finding> audit_planned_log(std::istream& log);

}  // namespace analysis
