// Conditions of a rule on one value, with Python's semantics.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/mllog/rules/formula.h"

namespace mllog::rules {

/// One condition on a value; the kind determines which members are used.
struct Condition {
  enum class Kind {
    kAbove,
    kAtLeast,
    kBelow,
    kAtMost,
    kEquals,
    kOneOfNumbers,
    kOneOfTexts,
    kBenchmarkOfRound,  ///< one of `texts`, which are set for each round
    kTarget,            ///< placeholder for the benchmark's quality target, replaced for each round
    kNotText,
    kLength,
    kLengthAtLeast,
    kCloseTo,          ///< within 1e-9 of the larger one (Python's math.isclose)
    kMultipleOf,       ///< value / number is within 1e-5 of an integer
    kPowerOfTwoTimes,  ///< log2(value / number) is within 1e-5 of an integer
    kTrue,
    kBoolean,
    kInteger,  ///< written without decimal point and exponent; includes true and false
    kHas,      ///< an object with all members named in `texts`
    kHolds     ///< `formula` is true
  };
  Kind kind = Kind::kTrue;
  double number = 0.0;
  std::vector<double> numbers;
  std::vector<std::string> texts;
  std::optional<Formula> formula = std::nullopt;
};

/// Conditions that must all hold; an empty predicate always holds.
using Predicate = std::vector<Condition>;

/// Whether all conditions hold; nothing if one cannot be evaluated, such as the length of a number.
/// `others`: what formulas see besides the value.
Answer holds(const Predicate& predicate, const JsonText& value, const FormulaScope& others = {});

/// "above 0 and at most 0.124", "one of sgd, lars".
std::string words(const Predicate& predicate);

}  // namespace mllog::rules
