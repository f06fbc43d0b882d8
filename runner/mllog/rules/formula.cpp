// Evaluates formulas.
#include "runner/mllog/rules/formula.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace mllog::rules {
namespace {

using Computed = std::optional<FormulaValue>;
using Number = std::optional<double>;

Computed computed_number(Number number) {
  if (!number) return {};
  return FormulaValue{FormulaValue::Kind::kNumber, *number, ""};
}

Computed truth_value(Answer answer) {
  if (!answer) return {};
  return computed_number(*answer ? 1.0 : 0.0);
}

bool truth(const FormulaValue& value) {
  switch (value.kind) {
    case FormulaValue::Kind::kNull:
      return false;
    case FormulaValue::Kind::kNumber:
      return value.number != 0.0;
    case FormulaValue::Kind::kText:
      return !value.text.empty();
    default:
      return python_truth(JsonText(value.text));
  }
}

/// Compares two numbers or two texts; other kinds have no order.
template <class Precedes>
Answer in_order(const FormulaValue& left, const FormulaValue& right, Precedes precedes) {
  if (left.kind != right.kind) return {};
  if (left.kind == FormulaValue::Kind::kNumber) return precedes(left.number, right.number);
  if (left.kind == FormulaValue::Kind::kText) return precedes(left.text, right.text);
  return {};
}

/// Python's %, whose result has the sign of the divisor.
Number modulo(double left, double right) {
  if (right == 0.0) return {};
  const double rest = std::fmod(left, right);
  return rest != 0.0 && (rest < 0.0) != (right < 0.0) ? rest + right : rest;
}

/// Nothing instead of complex numbers and overflow.
Number power(double base, double exponent) {
  if (base == 0.0 && exponent < 0.0) return {};
  const double result = std::pow(base, exponent);
  const bool was_finite = std::isfinite(base) && std::isfinite(exponent);
  if (was_finite && !std::isfinite(result)) return {};
  return result;
}

Number finite(double before, double result) {
  if (!std::isfinite(before)) return {};
  return result;
}

Computed member_of(const FormulaValue& object, const std::string& name) {
  if (object.kind != FormulaValue::Kind::kJson) return {};
  const JsonText member = JsonText(object.text).member(name);
  if (member.is_absent()) return {};
  return FormulaValue::of(member);
}

Answer has(const FormulaValue& container, const FormulaValue& name) {
  if (name.kind != FormulaValue::Kind::kText) return {};
  if (container.kind == FormulaValue::Kind::kText) {
    return container.text.find(name.text) != std::string::npos;
  }
  if (container.kind == FormulaValue::Kind::kJson) {
    return python_contains(JsonText(container.text), name.text);
  }
  return {};
}

/// The result of Python's int() for a text: digits with optional sign and surrounding blanks.
Number integer_in(std::string text) {
  const auto blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && blank(text.back())) text.pop_back();
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), blank));
  const std::size_t first = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const bool digits =
      text.size() > first && std::all_of(text.begin() + static_cast<std::ptrdiff_t>(first),
                                         text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) return {};
  return std::stod(text);
}

Computed item_of(const FormulaValue& list, const FormulaValue& index) {
  if (list.kind != FormulaValue::Kind::kJson || !list.text.starts_with('[') ||
      index.kind != FormulaValue::Kind::kNumber) {
    return {};
  }
  const nlohmann::json items = JsonText(list.text).decoded();
  const auto size = static_cast<double>(items.size());
  const double at = index.number < 0.0 ? index.number + size : index.number;
  if (at != std::floor(at) || !(at >= 0.0 && at < size)) return {};
  const nlohmann::json& item = items[static_cast<std::size_t>(at)];
  // to_python_json keeps NaN.
  return FormulaValue::of(JsonText(to_python_json(nlohmann::ordered_json(item))));
}

Computed appended(const FormulaValue& list, const FormulaValue& item) {
  if (list.kind != FormulaValue::Kind::kJson || !list.text.starts_with('[') ||
      item.kind != FormulaValue::Kind::kNumber) {
    return {};
  }
  nlohmann::ordered_json items(JsonText(list.text).decoded());
  items.push_back(item.number);
  return FormulaValue{FormulaValue::Kind::kJson, 0.0, to_python_json(items)};
}

}  // namespace

FormulaValue FormulaValue::of(const JsonText& value) {
  if (value.is_absent() || value.is_null()) return {};
  if (const std::optional<double> number = python_number(value)) {
    return {Kind::kNumber, *number, ""};
  }
  if (std::optional<std::string> text = value.string()) {
    return {Kind::kText, 0.0, std::move(*text)};
  }
  return {Kind::kJson, 0.0, std::string(value.text())};
}

bool FormulaValue::operator==(const FormulaValue& other) const {
  if (kind != other.kind) return false;
  switch (kind) {
    case Kind::kNull:
      return true;
    case Kind::kNumber:
      return number == other.number;
    case Kind::kText:
      return text == other.text;
    default:
      return python_equal(JsonText(text), JsonText(other.text));
  }
}

/// One evaluation of a formula.
class FormulaRun {
 public:
  FormulaRun(const Formula& formula, const FormulaScope& scope)
      : formula_(formula), scope_(scope) {}

  Computed whole() const { return node(formula_.nodes_.size() - 1); }

 private:
  using Op = Formula::Op;
  using Node = Formula::Node;

  Computed node(std::size_t which) const {
    const Node& one = formula_.nodes_[which];
    switch (one.op) {
      case Op::kConstant:
        return one.constant;
      case Op::kValue:
        return FormulaValue::of(scope_.value);
      case Op::kMetadata:
        return FormulaValue::of(scope_.metadata);
      case Op::kTime:
        return computed_number(scope_.time_ms);
      case Op::kName:
        return name(one.index);
      case Op::kIf:
      case Op::kOr:
      case Op::kAnd:
        return choice(one);
      default:
        return operation(one);
    }
  }

  Computed name(std::size_t index) const {
    if (scope_.names == nullptr || index >= formula_.slots_.size()) return {};
    return scope_.names->at(formula_.slots_[index]);
  }

  /// Evaluates an operand only if Python would.
  Computed choice(const Node& one) const {
    Computed first = node(one.operands[0]);
    if (!first) return {};
    const bool holds = truth(*first);
    if (one.op == Op::kIf) return node(one.operands[holds ? 1 : 2]);
    const bool decided = holds == (one.op == Op::kOr);
    return decided ? first : node(one.operands[1]);
  }

  Computed operation(const Node& one) const {
    const Computed first = node(one.operands[0]);
    if (!first) return {};
    if (one.op == Op::kMember) return member_of(*first, one.constant.text);
    if (one.op == Op::kNot) return truth_value(!truth(*first));
    if (one.operands.size() == 1) return computed_number(of_one(one.op, *first));
    const Computed second = node(one.operands[1]);
    if (!second) return {};
    switch (one.op) {
      case Op::kItem:
        return item_of(*first, *second);
      case Op::kAppend:
        return appended(*first, *second);
      case Op::kHas:
        return truth_value(has(*first, *second));
      case Op::kEqual:
        return truth_value(*first == *second);
      case Op::kNotEqual:
        return truth_value(!(*first == *second));
      case Op::kLess:
        return truth_value(in_order(*first, *second, std::less<>()));
      case Op::kAtMost:
        return truth_value(in_order(*first, *second, std::less_equal<>()));
      default:
        return computed_number(of_two(one.op, *first, *second));
    }
  }

  static Number of_one(Op op, const FormulaValue& operand) {
    if (op == Op::kInt && operand.kind == FormulaValue::Kind::kText) {
      return integer_in(operand.text);
    }
    if (operand.kind != FormulaValue::Kind::kNumber) return {};
    const double number = operand.number;
    switch (op) {
      case Op::kNegate:
        return -number;
      case Op::kAbs:
        return std::abs(number);
      case Op::kCeil:
        return finite(number, std::ceil(number));
      case Op::kFloor:
        return finite(number, std::floor(number));
      case Op::kInt:
        return finite(number, std::trunc(number));
      case Op::kSqrt:
        return number < 0.0 ? Number() : std::sqrt(number);
      default:  // whole()
        const Answer is_whole = python_is_integer(number);
        return is_whole ? Number(*is_whole ? 1.0 : 0.0) : Number();
    }
  }

  static Number of_two(Op op, const FormulaValue& first, const FormulaValue& second) {
    if (first.kind != FormulaValue::Kind::kNumber || second.kind != FormulaValue::Kind::kNumber) {
      return {};
    }
    const double left = first.number;
    const double right = second.number;
    switch (op) {
      case Op::kAdd:
        return left + right;
      case Op::kSubtract:
        return left - right;
      case Op::kMultiply:
        return left * right;
      case Op::kDivide:
        return right == 0.0 ? Number() : left / right;
      case Op::kModulo:
        return modulo(left, right);
      case Op::kMin:
        return right < left ? right : left;
      case Op::kMax:
        return right > left ? right : left;
      default:
        return power(left, right);
    }
  }

  const Formula& formula_;
  const FormulaScope& scope_;
};

std::optional<FormulaValue> Formula::compute(const FormulaScope& scope) const {
  return FormulaRun(*this, scope).whole();
}

Answer Formula::holds(const FormulaScope& scope) const {
  const std::optional<FormulaValue> result = compute(scope);
  if (!result) return {};
  return truth(*result);
}

}  // namespace mllog::rules
