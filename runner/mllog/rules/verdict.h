// The verdict on a log from the states of its rules.
// Hides the chain of rule files, and which findings a later file replaces.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/mllog/rules/rule_state.h"

namespace mllog::rules {

/// All that a judge knows. The states stand in the order of the ruleset's files.
struct Case {
  const Ruleset& ruleset;
  const std::vector<FileState>& files;
  const Violations& log;  ///< of no rule's
  std::int64_t records = 0;
  std::int64_t other_format_records = 0;  ///< of other rounds' formats
  bool warnings_are_errors = false;
};

Judgement verdict(const Case& known);

}  // namespace mllog::rules
