// Rules and rounds as JSON documents.
#pragma once

#include <string>

#include "runner/mllog/rules/rule_book.h"

namespace analysis::report {

/// The rules that a log of the benchmark could be judged by in that round.
std::string rules_json_text(const mllog::rules::Ruleset& ruleset, const std::string& benchmark);

/// The rounds with what they list.
std::string rounds_json_text(const mllog::rules::RuleBook& book);

}  // namespace analysis::report
