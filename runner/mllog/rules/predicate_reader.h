// Reads the conditions of a rule on a value.
#pragma once

#include "runner/mllog/rules/predicate.h"

namespace base {
class ObjectReader;
}

namespace mllog::rules {

/// `{"above": 0, "at_most": 0.124}`. Throws ConfigError for an invalid condition.
Predicate read_predicate(const base::ObjectReader& in);
/// Reads the member "holds" of `in`.
Condition read_formula(const base::ObjectReader& in);

}  // namespace mllog::rules
