// Verdicts and rules as text and as JSON.
// Hides their keys and layout.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "analysis/check_report.h"

namespace analysis {

/// Each log with its verdict, what led to it, and the audit's warnings and errors; then how many
/// passed. Of passing logs nothing when `quiet`.
void write_check_text(std::ostream& out, const CheckReport& report, bool quiet);
/// {"schema": 1, "files": {name: {verdict, ruleset, why_this_ruleset, rule_files, failing_keys,
/// findings, audit}}, "problems": [...]}, with a line end.
std::string check_json_text(const CheckReport& report);

/// The rules that a log of the benchmark could be judged by in that round, in words.
void write_rules_text(std::ostream& out, const mllog::rules::Ruleset& ruleset,
                      const std::string& benchmark, std::size_t width);
std::string rules_json_text(const mllog::rules::Ruleset& ruleset, const std::string& benchmark);

/// The rounds with what they list.
void write_rounds_text(std::ostream& out, const mllog::rules::RuleBook& book, std::size_t width);
std::string rounds_json_text(const mllog::rules::RuleBook& book);

}  // namespace analysis
