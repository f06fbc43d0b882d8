// What a rule asks of one value.
// Hides how Python would answer, and the words for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/mllog/rules/formula.h"

namespace mllog::rules {

/// One condition on a value; which of the members count depends on the kind.
struct Condition {
  enum class Kind {
    kAbove,
    kAtLeast,
    kBelow,
    kAtMost,
    kEquals,
    kOneOfNumbers,
    kOneOfTexts,
    kBenchmarkOfRound,  ///< one of `texts`, which are filled in for each round
    kTarget,            ///< the benchmark's quality target; others take its place in each round
    kNotText,
    kLength,
    kLengthAtLeast,
    kCloseTo,          ///< within 1e-9 of the larger one (Python's math.isclose)
    kMultipleOf,       ///< value / number is within 1e-5 of an integer
    kPowerOfTwoTimes,  ///< log2(value / number) is within 1e-5 of an integer
    kTrue,
    kBoolean,
    kInteger,  ///< written without point and exponent; true and false, too
    kHas,      ///< an object with all members `texts`
    kHolds     ///< `formula` does
  };
  Kind kind = Kind::kTrue;
  double number = 0.0;
  std::vector<double> numbers;
  std::vector<std::string> texts;
  std::optional<Formula> formula = std::nullopt;
};

/// Conditions that must hold together; none asks for nothing.
using Predicate = std::vector<Condition>;

/// Whether all hold; nothing where one cannot be checked, as it asks a text for its size.
/// `others`: what formulas see beside the value.
Answer holds(const Predicate& predicate, const JsonText& value, const FormulaScope& others = {});

/// "above 0 and at most 0.124", "one of sgd, lars".
std::string words(const Predicate& predicate);

}  // namespace mllog::rules
