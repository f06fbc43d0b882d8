// Resolves references of a file's rules to each other, to other files and to the round.
#pragma once

#include "runner/mllog/rules/ruleset.h"

namespace mllog::rules {

/// Sets the indices of rules and files, the slots of names and the round's benchmarks. Call it when
/// all rules are loaded. Throws ConfigError for a reference to something unknown.
void link(Ruleset& ruleset);

}  // namespace mllog::rules
