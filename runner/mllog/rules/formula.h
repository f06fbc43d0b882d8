// A formula of a rule: arithmetic and comparisons over a record and earlier ones. Operations for
// which Python would raise an exception give no value.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runner/mllog/python_json.h"
#include "runner/mllog/rules/python_value.h"

namespace mllog::rules {

/// A value in formulas. Truth values are the numbers 1 and 0.
struct FormulaValue {
  enum class Kind {
    kNull,
    kNumber,
    kText,
    kJson  ///< a list or an object
  };
  Kind kind = Kind::kNull;
  double number = 0.0;
  std::string text;  ///< text of kText; JSON of kJson

  static FormulaValue of(const JsonText& value);
  bool operator==(const FormulaValue& other) const;
};

/// The variables of a formula.
struct FormulaScope {
  JsonText value;     ///< the value to judge: of the record or of a member
  JsonText metadata;  ///< of the record
  double time_ms = 0.0;
  /// The value of each name by its slot; empty if it was not logged or set so far.
  const std::vector<std::optional<FormulaValue>>* names = nullptr;
};

/// `value == ceil(1200000 * 1152 / global_batch_size) - opt_learning_rate_warmup_steps`. Operators
/// from lowest to highest precedence: `A if C else B`; or; and; not; == != < <= > >= (chained as in
/// 0 <= value <= 1); + -; * / % (the sign of the divisor); unary -; right-associative ^; `.member`,
/// `[index from 0]`. Operands: numbers, 'texts', true, false, infinity, []; `value`, `metadata`,
/// `time_ms`; any other name is the last value logged under that key before, or assigned to that
/// name. Functions: abs, ceil, floor, sqrt, int (truncates, also reads texts), whole (within 1e-5
/// of an integer), has(object, 'member'), min, max, append(list, item).
class Formula {
 public:
  /// Throws ConfigError with `where`, the column and what was expected there.
  Formula(const std::string& text, const std::string& where);

  const std::string& text() const { return text_; }
  /// The names that it refers to, except value, metadata and time_ms, each once.
  const std::vector<std::string>& names() const { return names_; }
  /// Sets the index into FormulaScope::names for each of names().
  void bind(std::vector<std::size_t> slots) { slots_ = std::move(slots); }

  /// Nothing if it cannot be computed, as with a name that was not logged or a text times a number.
  std::optional<FormulaValue> compute(const FormulaScope& scope) const;
  Answer holds(const FormulaScope& scope) const;

 private:
  friend class FormulaParser;
  friend class FormulaRun;
  enum class Op {
    kConstant,
    kValue,
    kMetadata,
    kTime,
    kName,  ///< `index` of names_
    kMember,
    kItem,
    kIf,  ///< condition, then, else
    kOr,
    kAnd,
    kNot,
    kEqual,
    kNotEqual,
    kLess,
    kAtMost,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kModulo,
    kPower,
    kNegate,
    kAbs,
    kCeil,
    kFloor,
    kSqrt,
    kInt,
    kWhole,
    kHas,
    kMin,
    kMax,
    kAppend
  };
  struct Node {
    Op op;
    FormulaValue constant;  ///< of kConstant; the member's name of kMember
    std::vector<std::size_t> operands;
    std::size_t index = 0;
  };

  std::string text_;
  std::vector<Node> nodes_;  ///< operands before the nodes that use them; the last node is the
                             ///< result
  std::vector<std::string> names_;
  std::vector<std::size_t> slots_;
};

/// `name = formula`, by which rules set names.
struct Assignment {
  std::string name;
  std::size_t slot = 0;  ///< of the name; set when a round's rules are linked
  Formula formula;
  std::string text() const { return name + " = " + formula.text(); }
};

/// Throws ConfigError like Formula.
Assignment parse_assignment(const std::string& text, const std::string& where);

}  // namespace mllog::rules
