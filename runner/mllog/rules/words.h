// Rules in words, for lists and messages.
// Hides nothing of the rules.
#pragma once

#include <string>
#include <vector>

#include "runner/mllog/rules/ruleset.h"

namespace mllog::rules {

/// "must come after run_start", "metadata must have epoch_num or samples_count".
std::string words(const Check& check);
/// "exactly one record"; "" where any number will do.
std::string words(const Occurrence& occurs);
/// All that a rule asks, a sentence without its subject each, in the order it is judged.
std::vector<std::string> words(const Rule& rule);

}  // namespace mllog::rules
