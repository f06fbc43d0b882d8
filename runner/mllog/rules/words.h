// Rules as text, for lists and messages.
#pragma once

#include <string>
#include <vector>

#include "runner/mllog/rules/ruleset.h"

namespace mllog::rules {

/// "must come after run_start", "metadata must have epoch_num or samples_count".
std::string words(const Check& check);
/// "exactly one record"; "" if any number is allowed.
std::string words(const Occurrence& occurs);
/// All requirements of a rule, each a sentence without its subject, in the order of judging.
std::vector<std::string> words(const Rule& rule);

}  // namespace mllog::rules
