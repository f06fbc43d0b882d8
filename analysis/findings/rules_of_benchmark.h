// The rule files that may apply to a log of one benchmark.
#pragma once

#include <string>
#include <vector>

#include "runner/mllog/rules/ruleset.h"

namespace analysis {

/// The files for both divisions and every optimizer, each after the file that chooses it.
std::vector<const mllog::rules::RuleFile*> files_for(const mllog::rules::Ruleset& ruleset,
                                                     const std::string& benchmark);

}  // namespace analysis
