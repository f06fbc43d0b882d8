// The verdict on a log from the states of its rules. Follows the chain of rule files, in which
// later files replace findings.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/mllog/rules/rule_state.h"

namespace mllog::rules {

/// Everything that the judge knows about a log. The states are in the order of the ruleset's files.
struct Case {
  const Ruleset& ruleset;
  const std::vector<FileState>& files;
  const Violations& log;  ///< violations that belong to no rule
  std::int64_t records = 0;
  std::int64_t other_format_records = 0;  ///< records in other rounds' formats
  bool warnings_are_errors = false;
};

Judgement verdict(const Case& known);

}  // namespace mllog::rules
