// Resolves what the rules of a file say of each other, of other files and of the round.
#pragma once

#include "runner/mllog/rules/ruleset.h"

namespace mllog::rules {

/// Fills in the indices of rules and files, the slots of names and the round's benchmarks, once all
/// rules are there. Throws ConfigError where something is referred to that is not there.
void link(Ruleset& ruleset);

}  // namespace mllog::rules
