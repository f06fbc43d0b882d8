// What a log shows beside a verdict that its reader should know.
// Hides the conditions and thresholds.
#pragma once

#include <vector>

#include "analysis/audit_rules.h"
#include "analysis/facts.h"
#include "analysis/log_parser.h"

namespace analysis {

/// The findings of one log, each with its rule and, where a line can be named, its place; what is
/// repeated is told once with a count. Never changes an outcome or a figure. None for a log
/// without records. `facts` are those of `log`.
std::vector<Finding> audit(const ParsedLog& log, const RunFacts& facts);

}  // namespace analysis
