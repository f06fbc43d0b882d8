// Audit of one log: findings that its reader should know, in addition to a verdict.
#pragma once

#include <vector>

#include "analysis/audit_rules.h"
#include "analysis/facts.h"
#include "analysis/log_parser.h"

namespace analysis {

/// The findings of one log, each with its rule and, if a line can be named, its place. Repetitions
/// give one finding with a count. Findings never change an outcome or a figure. Empty for a log
/// without records. `facts` are those of `log`.
std::vector<Finding> audit(const ParsedLog& log, const RunFacts& facts);

}  // namespace analysis
