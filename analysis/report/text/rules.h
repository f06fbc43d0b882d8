// Rules and rounds as text.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "runner/mllog/rules/rule_book.h"

namespace analysis::report {

/// All rules by which a log of the benchmark could be judged in that round, in words.
void write_rules_text(std::ostream& out, const mllog::rules::Ruleset& ruleset,
                      const std::string& benchmark, std::size_t width);
/// The rounds with their benchmarks and sources.
void write_rounds_text(std::ostream& out, const mllog::rules::RuleBook& book, std::size_t width);

}  // namespace analysis::report
