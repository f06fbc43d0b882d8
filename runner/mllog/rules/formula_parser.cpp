// Parses formulas.
#include "runner/mllog/rules/formula_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "runner/base/error.h"

namespace mllog::rules {
namespace {

using base::ConfigError;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_in_name(char c) { return begins_name(c) || is_digit(c); }

FormulaValue number_value(double number) { return {FormulaValue::Kind::kNumber, number, ""}; }
FormulaValue text_value(std::string text) {
  return {FormulaValue::Kind::kText, 0.0, std::move(text)};
}

}  // namespace

void FormulaParser::parse() {
  constexpr std::size_t kMostBytes = 2000;
  if (text_.size() > kMostBytes) {
    throw ConfigError(fmt::format("{}: a formula has at most {} characters, found {}", where_,
                                  kMostBytes, text_.size()));
  }
  conditional();
  skip_blanks();
  if (at_ < text_.size()) fail("an operator or the end");
}

std::size_t FormulaParser::conditional() {
  constexpr int kDeepest = 40;
  if (++depth_ > kDeepest) fail("fewer parentheses in each other");
  std::size_t node = disjunction();
  if (take_word("if")) {
    const std::size_t condition = disjunction();
    if (!take_word("else")) fail("else");
    const std::size_t otherwise = conditional();
    node = add(Op::kIf, {condition, node, otherwise});
  }
  --depth_;
  return node;
}

std::size_t FormulaParser::disjunction() {
  std::size_t node = conjunction();
  while (take_word("or")) node = add(Op::kOr, {node, conjunction()});
  return node;
}

std::size_t FormulaParser::conjunction() {
  std::size_t node = negation();
  while (take_word("and")) node = add(Op::kAnd, {node, negation()});
  return node;
}

std::size_t FormulaParser::negation() {
  int times = 0;
  while (take_word("not")) ++times;
  std::size_t node = comparison();
  for (; times > 0; --times) node = add(Op::kNot, {node});
  return node;
}

/// a <= b < c means a <= b and b < c.
std::size_t FormulaParser::comparison() {
  std::size_t left = sum();
  std::optional<std::size_t> all;
  for (;;) {
    std::optional<Op> op;
    bool turned = false;
    if (take("==")) {
      op = Op::kEqual;
    } else if (take("!=")) {
      op = Op::kNotEqual;
    } else if (take("<=")) {
      op = Op::kAtMost;
    } else if (take(">=")) {
      op = Op::kAtMost;
      turned = true;
    } else if (take("<")) {
      op = Op::kLess;
    } else if (take(">")) {
      op = Op::kLess;
      turned = true;
    }
    if (!op) return all.value_or(left);
    const std::size_t right = sum();
    const std::size_t one = turned ? add(*op, {right, left}) : add(*op, {left, right});
    all = all ? add(Op::kAnd, {*all, one}) : one;
    left = right;
  }
}

std::size_t FormulaParser::sum() {
  std::size_t node = product();
  for (;;) {
    if (take("+")) {
      node = add(Op::kAdd, {node, product()});
    } else if (take("-")) {
      node = add(Op::kSubtract, {node, product()});
    } else {
      return node;
    }
  }
}

std::size_t FormulaParser::product() {
  std::size_t node = signed_power();
  for (;;) {
    if (take("*")) {
      node = add(Op::kMultiply, {node, signed_power()});
    } else if (take("/")) {
      node = add(Op::kDivide, {node, signed_power()});
    } else if (take("%")) {
      node = add(Op::kModulo, {node, signed_power()});
    } else {
      return node;
    }
  }
}

/// -a ^ b is -(a ^ b).
std::size_t FormulaParser::signed_power() {
  if (take("-")) return add(Op::kNegate, {signed_power()});
  const std::size_t base = postfix();
  return take("^") ? add(Op::kPower, {base, signed_power()}) : base;
}

std::size_t FormulaParser::postfix() {
  std::size_t node = primary();
  for (;;) {
    if (take(".")) {
      const std::string name = take_name();
      if (name.empty()) fail("the name of a member");
      node = add(Op::kMember, {node});
      formula_.nodes_[node].constant = text_value(name);
    } else if (take("[")) {
      node = add(Op::kItem, {node, conditional()});
      expect("]");
    } else {
      return node;
    }
  }
}

std::size_t FormulaParser::primary() {
  if (take("(")) {
    const std::size_t node = conditional();
    expect(")");
    return node;
  }
  if (take("[")) {
    expect("]");
    return constant({FormulaValue::Kind::kJson, 0.0, "[]"});
  }
  skip_blanks();
  if (at_ == text_.size()) fail("a number, a name or (");
  if (is_digit(text_[at_])) return number();
  if (text_[at_] == '\'') return quoted();
  if (begins_name(text_[at_])) return word();
  fail("a number, a name or (");
}

std::size_t FormulaParser::number() {
  double value = 0.0;
  const char* const begin = text_.data() + at_;
  const auto [end, failed] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (failed != std::errc()) fail("a number");
  at_ += static_cast<std::size_t>(end - begin);
  return constant(number_value(value));
}

std::size_t FormulaParser::quoted() {
  const std::size_t end = text_.find('\'', at_ + 1);
  if (end == std::string::npos) fail("a text that ends with '");
  std::string inside = text_.substr(at_ + 1, end - at_ - 1);
  at_ = end + 1;
  return constant(text_value(std::move(inside)));
}

std::size_t FormulaParser::word() {
  for (const char* const reserved : {"if", "else", "or", "and", "not"}) {
    if (take_word(reserved)) fail(std::string("a number, a name or ( before ") + reserved);
  }
  const std::string name = take_name();
  if (take("(")) return call(name);
  if (name == "value") return add(Op::kValue);
  if (name == "metadata") return add(Op::kMetadata);
  if (name == "time_ms") return add(Op::kTime);
  if (name == "true") return constant(number_value(1.0));
  if (name == "false") return constant(number_value(0.0));
  if (name == "infinity") return constant(number_value(std::numeric_limits<double>::infinity()));
  auto& names = formula_.names_;
  const auto known = std::find(names.begin(), names.end(), name);
  const std::size_t node = add(Op::kName);
  formula_.nodes_[node].index = static_cast<std::size_t>(known - names.begin());
  if (known == names.end()) names.push_back(name);
  return node;
}

std::size_t FormulaParser::call(const std::string& name) {
  struct Function {
    std::string_view name;
    Op op;
    std::size_t operands;
  };
  constexpr std::array kFunctions = {
      Function{"abs", Op::kAbs, 1},     Function{"ceil", Op::kCeil, 1},
      Function{"floor", Op::kFloor, 1}, Function{"sqrt", Op::kSqrt, 1},
      Function{"int", Op::kInt, 1},     Function{"whole", Op::kWhole, 1},
      Function{"has", Op::kHas, 2},     Function{"min", Op::kMin, 2},
      Function{"max", Op::kMax, 2},     Function{"append", Op::kAppend, 2}};
  const auto found = std::find_if(kFunctions.begin(), kFunctions.end(),
                                  [&](const Function& one) { return one.name == name; });
  if (found == kFunctions.end()) fail("a known function, not " + name);
  std::vector<std::size_t> operands;
  do {
    operands.push_back(conditional());
  } while (take(","));
  if (operands.size() != found->operands) {
    fail(fmt::format("{} operands of {}", found->operands, name));
  }
  expect(")");
  return add(found->op, std::move(operands));
}

std::size_t FormulaParser::add(Op op, std::vector<std::size_t> operands) {
  formula_.nodes_.push_back({op, {}, std::move(operands), 0});
  return formula_.nodes_.size() - 1;
}

std::size_t FormulaParser::constant(FormulaValue value) {
  const std::size_t node = add(Op::kConstant);
  formula_.nodes_[node].constant = std::move(value);
  return node;
}

void FormulaParser::skip_blanks() {
  while (at_ < text_.size() && text_[at_] == ' ') ++at_;
}

bool FormulaParser::take(std::string_view symbol) {
  skip_blanks();
  if (text_.compare(at_, symbol.size(), symbol) != 0) return false;
  at_ += symbol.size();
  return true;
}

bool FormulaParser::take_word(std::string_view word) {
  const std::size_t before = at_;
  if (!take(word)) return false;
  if (at_ == text_.size() || !is_in_name(text_[at_])) return true;
  at_ = before;
  return false;
}

std::string FormulaParser::take_name() {
  skip_blanks();
  std::size_t end = at_;
  if (end < text_.size() && begins_name(text_[end])) {
    while (end < text_.size() && is_in_name(text_[end])) ++end;
  }
  std::string name = text_.substr(at_, end - at_);
  at_ = end;
  return name;
}

void FormulaParser::expect(std::string_view symbol) {
  if (!take(symbol)) fail(std::string(symbol));
}

void FormulaParser::fail(const std::string& expected) const {
  throw ConfigError(fmt::format("{}: formula \"{}\", column {}: expected {}, found {}", where_,
                                text_, at_ + 1, expected,
                                at_ < text_.size() ? text_.substr(at_) : "the end"));
}

Formula::Formula(const std::string& text, const std::string& where) : text_(text) {
  FormulaParser(*this, where).parse();
}

Assignment parse_assignment(const std::string& text, const std::string& where) {
  std::size_t end = 0;
  while (end < text.size() && is_in_name(text[end])) ++end;
  const std::size_t sign = text.find_first_not_of(' ', end);
  const bool assigns = end > 0 && begins_name(text[0]) && sign != std::string::npos &&
                       text[sign] == '=' && text.compare(sign, 2, "==") != 0;
  if (!assigns) throw ConfigError(where + ": must look like name = formula, got " + text);
  const std::size_t begin = std::min(text.find_first_not_of(' ', sign + 1), text.size());
  return {text.substr(0, end), 0, Formula(text.substr(begin), where)};
}

}  // namespace mllog::rules
