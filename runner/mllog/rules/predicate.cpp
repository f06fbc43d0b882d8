// Conditions of a rule on one value.
#include "runner/mllog/rules/predicate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "runner/mllog/python_json.h"

namespace mllog::rules {
namespace {

/// Nothing if value <= 0, for which Python's math.log2() raises an exception.
Answer is_power_of_two(double value) {
  if (std::isnan(value) || value <= 0.0) return {};
  return python_is_integer(std::log2(value));
}

bool is_close(double one, double other) {
  constexpr double kRelative = 1e-9;
  if (one == other) return true;
  if (std::isinf(one) || std::isinf(other)) return false;
  return std::abs(one - other) <= kRelative * std::max(std::abs(one), std::abs(other));
}

Answer number_holds(const Condition& condition, double value) {
  using enum Condition::Kind;
  switch (condition.kind) {
    case kAbove:
      return value > condition.number;
    case kAtLeast:
      return value >= condition.number;
    case kBelow:
      return value < condition.number;
    case kAtMost:
      return value <= condition.number;
    case kCloseTo:
      return is_close(value, condition.number);
    case kMultipleOf:
      return python_is_integer(value / condition.number);
    default:
      return is_power_of_two(value / condition.number);
  }
}

Answer length_holds(const Condition& condition, const JsonText& value) {
  const auto length = python_length(value);
  if (!length) return {};
  const auto wanted = condition.number;
  const auto found = static_cast<double>(*length);
  return condition.kind == Condition::Kind::kLength ? found == wanted : found >= wanted;
}

bool is_integer(const JsonText& value) {
  if (value.text() == "true" || value.text() == "false") return true;
  return value.is_number() && value.text().find_first_not_of("-0123456789") == std::string::npos;
}

Answer has_all(const std::vector<std::string>& names, const JsonText& value) {
  for (const std::string& name : names) {
    const Answer has = python_contains(value, name);
    if (!has || !*has) return has;
  }
  return true;
}

Answer formula_holds(const Formula& formula, const JsonText& value, FormulaScope scope) {
  scope.value = value;
  return formula.holds(scope);
}

Answer condition_holds(const Condition& condition, const JsonText& value,
                       const FormulaScope& others) {
  const auto is_text = [&](const std::string& text) { return python_equals(value, text); };
  const auto is_number = [&](double number) { return python_equals(value, number); };
  using enum Condition::Kind;
  switch (condition.kind) {
    case kEquals:
      return is_number(condition.number);
    case kOneOfNumbers:
      return std::any_of(condition.numbers.begin(), condition.numbers.end(), is_number);
    case kOneOfTexts:
    case kBenchmarkOfRound:
      return std::any_of(condition.texts.begin(), condition.texts.end(), is_text);
    case kNotText:
      return std::none_of(condition.texts.begin(), condition.texts.end(), is_text);
    case kLength:
    case kLengthAtLeast:
      return length_holds(condition, value);
    case kTrue:
      return python_truth(value);
    case kBoolean:
      return value.text() == "true" || value.text() == "false";
    case kInteger:
      return is_integer(value);
    case kHas:
      return has_all(condition.texts, value);
    case kHolds:
      return formula_holds(*condition.formula, value, others);
    default:
      const auto number = python_number(value);
      return number ? number_holds(condition, *number) : Answer();
  }
}

std::string words(const Condition& condition) {
  const double number = condition.number;
  using enum Condition::Kind;
  switch (condition.kind) {
    case kAbove:
      return fmt::format("above {}", number);
    case kAtLeast:
      return fmt::format("at least {}", number);
    case kBelow:
      return fmt::format("below {}", number);
    case kAtMost:
      return fmt::format("at most {}", number);
    case kEquals:
      return fmt::format("equal to {}", number);
    case kOneOfNumbers:
      return fmt::format("one of {}", fmt::join(condition.numbers, ", "));
    case kOneOfTexts:
    case kBenchmarkOfRound:
      return condition.texts.size() == 1
                 ? fmt::format("\"{}\"", condition.texts[0])
                 : fmt::format("one of {}", fmt::join(condition.texts, ", "));
    case kNotText:
      return condition.texts[0].empty() ? "not the empty text"
                                        : fmt::format("not \"{}\"", condition.texts[0]);
    case kLength:
      return fmt::format("of length {}", number);
    case kLengthAtLeast:
      return number == 0 ? "something with a length" : fmt::format("of length {} or more", number);
    case kCloseTo:
      return fmt::format("equal to {} but for rounding (1e-9)", number);
    case kMultipleOf:
      return number == 1 ? "an integer (within 1e-5)"
                         : fmt::format("an integer times {} (within 1e-5)", number);
    case kPowerOfTwoTimes:
      return fmt::format("a power of two times {}", number);
    case kBoolean:
      return "true or false";
    case kInteger:
      return "an integer, written without a point";
    case kHas:
      return fmt::format("an object with {}", fmt::join(condition.texts, " and "));
    case kHolds:
      return "such that " + condition.formula->text();
    default:
      return "true (not 0, empty or null)";
  }
}

}  // namespace

Answer holds(const Predicate& predicate, const JsonText& value, const FormulaScope& others) {
  for (const Condition& condition : predicate) {
    const Answer answer = condition_holds(condition, value, others);
    if (!answer || !*answer) return answer;
  }
  return true;
}

std::string words(const Predicate& predicate) {
  std::string text;
  for (const Condition& condition : predicate) {
    text += (text.empty() ? "" : " and ") + words(condition);
  }
  return text;
}

}  // namespace mllog::rules
