// Reads what a rule asks of a value.
#pragma once

#include "runner/mllog/rules/predicate.h"

namespace base {
class ObjectReader;
}

namespace mllog::rules {

/// `{"above": 0, "at_most": 0.124}`. Throws ConfigError for what is no condition.
Predicate read_predicate(const base::ObjectReader& in);
/// The member "holds" of `in`.
Condition read_formula(const base::ObjectReader& in);

}  // namespace mllog::rules
