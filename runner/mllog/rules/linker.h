// Resolves what the rules of a file say of each other, of other files and of the round.
#pragma once

#include "runner/mllog/rules/ruleset.h"

namespace mllog::rules {

/// Fills in the indices of rules, the slots of names and the round's benchmarks. `file` is one of
/// the ruleset's, whose rules are all there. Throws ConfigError where something is referred to
/// that is not there.
void link(const Ruleset& ruleset, RuleFile& file);

}  // namespace mllog::rules
