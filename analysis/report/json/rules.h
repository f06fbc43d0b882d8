// Rules and rounds as JSON documents.
#pragma once

#include <string>

#include "runner/mllog/rules/rule_book.h"

namespace analysis::report {

/// All rules by which a log of the benchmark could be judged in that round.
std::string rules_json_text(const mllog::rules::Ruleset& ruleset, const std::string& benchmark);

/// The rounds with their benchmarks and sources.
std::string rounds_json_text(const mllog::rules::RuleBook& book);

}  // namespace analysis::report
