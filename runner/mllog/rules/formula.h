// A formula of a rule: arithmetic and comparisons over a record and what was logged before it.
// Hides its syntax, and that Python's operators raise exceptions for operands that do not fit.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runner/mllog/python_json.h"
#include "runner/mllog/rules/python_value.h"

namespace mllog::rules {

/// A value that formulas compute with. Truths are the numbers 1 and 0.
struct FormulaValue {
  enum class Kind {
    kNull,
    kNumber,
    kText,
    kJson  ///< a list or an object
  };
  Kind kind = Kind::kNull;
  double number = 0.0;
  std::string text;  ///< of kText; JSON of kJson

  static FormulaValue of(const JsonText& value);
  bool operator==(const FormulaValue& other) const;
};

/// What a formula can see.
struct FormulaScope {
  JsonText value;     ///< that is judged: the record's, or that of a member
  JsonText metadata;  ///< of the record
  double time_ms = 0.0;
  /// What each name stands for, by its slot; nothing where it was not logged or set so far.
  const std::vector<std::optional<FormulaValue>>* names = nullptr;
};

/// `value == ceil(1200000 * 1152 / global_batch_size) - opt_learning_rate_warmup_steps`.
/// From loose to tight: `A if C else B`; or; and; not; == != < <= > >= (chained as in 0 <= value <=
/// 1); + -; * / % (the sign of the divisor); unary -; ^ to the right; `.member`, `[index from 0]`.
/// Numbers, 'texts', true, false, infinity, [];  `value`, `metadata`, `time_ms`; any other name
/// stands for what was logged of that key before, or set by that name. Functions: abs, ceil, floor,
/// sqrt, int (cuts, also reads texts), whole (within 1e-5 of an integer), has(object, 'member'),
/// min, max, append(list, item).
class Formula {
 public:
  /// Throws ConfigError, with `where`, the column and what was expected there.
  Formula(const std::string& text, const std::string& where);

  const std::string& text() const { return text_; }
  /// What it refers to beside value, metadata and time_ms, each once.
  const std::vector<std::string>& names() const { return names_; }
  /// The place of each of names() in FormulaScope::names.
  void bind(std::vector<std::size_t> slots) { slots_ = std::move(slots); }

  /// Nothing where it cannot be computed: a name that was not logged, a text times a number.
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
  std::vector<Node> nodes_;  ///< operands before what uses them; the last is the whole
  std::vector<std::string> names_;
  std::vector<std::size_t> slots_;
};

/// `name = formula`, as rules set names.
struct Assignment {
  std::string name;
  std::size_t slot = 0;  ///< of the name; set when the rules of a round are linked
  Formula formula;
  std::string text() const { return name + " = " + formula.text(); }
};

/// Throws ConfigError, as Formula does.
Assignment parse_assignment(const std::string& text, const std::string& where);

}  // namespace mllog::rules
