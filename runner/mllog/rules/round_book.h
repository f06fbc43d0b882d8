// The embedded rounds without their rules: which there are, when, and of which benchmarks.
// Hides that rules are left unread.
#pragma once

#include "runner/mllog/rules/rule_book.h"

namespace mllog::rules {

/// Its ruleset() finds no rules.
const RuleBook& round_book();

}  // namespace mllog::rules
