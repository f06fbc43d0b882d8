// Which rule files a log of one benchmark may be judged by.
// Hides how files follow each other.
#pragma once

#include <string>
#include <vector>

#include "runner/mllog/rules/ruleset.h"

namespace analysis {

/// In both divisions and with every optimizer, in the order of the chain.
std::vector<const mllog::rules::RuleFile*> files_for(const mllog::rules::Ruleset& ruleset,
                                                     const std::string& benchmark);

}  // namespace analysis
