// Parses formulas.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/mllog/rules/formula.h"

namespace mllog::rules {

/// Fills the nodes and names of a formula from its text by recursive descent: one function for each
/// level of precedence, lowest first.
class FormulaParser {
 public:
  FormulaParser(Formula& formula, std::string where)
      : formula_(formula), text_(formula.text_), where_(std::move(where)) {}
  void parse();

 private:
  using Op = Formula::Op;

  std::size_t conditional();
  std::size_t disjunction();
  std::size_t conjunction();
  std::size_t negation();
  std::size_t comparison();
  std::size_t sum();
  std::size_t product();
  std::size_t signed_power();
  std::size_t postfix();
  std::size_t primary();
  std::size_t number();
  std::size_t quoted();
  std::size_t word();
  std::size_t call(const std::string& name);

  std::size_t add(Op op, std::vector<std::size_t> operands = {});
  std::size_t constant(FormulaValue value);
  void skip_blanks();
  bool take(std::string_view symbol);
  bool take_word(std::string_view word);
  std::string take_name();
  void expect(std::string_view symbol);
  [[noreturn]] void fail(const std::string& expected) const;

  Formula& formula_;
  const std::string& text_;
  std::string where_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace mllog::rules
