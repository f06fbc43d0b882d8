// Verdicts and rules as text and as JSON.
// Hides their keys and layout.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>

#include "analysis/report/check_report.h"
#include "analysis/submission/bootstrap.h"

namespace analysis::report {

struct CheckTextOptions {
  bool quiet = false;      ///< nothing of logs that pass
  bool fix_hints = false;  ///< behind the first finding of each rule, what to do
  std::size_t width = 80;  ///< of tables
};

/// Each log with its verdict, what led to it, and the audit's warnings and errors, but for
/// suppressed ones; the same of each folder and of a submission; then how many logs passed.
void write_check_text(std::ostream& out, const CheckReport& report,
                      const CheckTextOptions& options);
/// {"schema": 1, "files": {name: {verdict, ruleset, why_this_ruleset, rule_files, failing_keys,
/// findings, audit}}, "sets": {folder: {audit, rcp}}, "run_groups": null or {folders, definitions},
/// "submission": null or {verdict, round, why_this_round, submissions, folders, findings},
/// "suppressions": [{rule, path, reason, findings, refused}], "problems": [...]}, with a line end.
std::string check_json_text(const CheckReport& report);
/// The groups of runs, their windows and which of them to submit; nothing where none were asked
/// for.
void write_run_groups(std::ostream& out, const CheckReport& report, std::size_t width);

/// The rules that a log of the benchmark could be judged by in that round, in words.
void write_rules_text(std::ostream& out, const mllog::rules::Ruleset& ruleset,
                      const std::string& benchmark, std::size_t width);
std::string rules_json_text(const mllog::rules::Ruleset& ruleset, const std::string& benchmark);

/// The rounds with what they list.
void write_rounds_text(std::ostream& out, const mllog::rules::RuleBook& book, std::size_t width);
std::string rounds_json_text(const mllog::rules::RuleBook& book);

/// Reference points with their statistics in that era, and a picture of them.
void write_points_text(std::ostream& out, const submission::ReferenceSet& set,
                       const submission::RcpEraFacts& era, std::size_t width);
/// What sets drawn from the runs of one of the points make of the test.
void write_bootstrap_text(std::ostream& out, const submission::ReferenceSet& set,
                          const submission::Bootstrap& drawn, std::size_t width);
/// Points, and the sets that were drawn where that was asked for.
std::string points_json_text(const submission::ReferenceSet& set,
                             const submission::RcpEraFacts& era,
                             const std::optional<submission::Bootstrap>& drawn = {});

}  // namespace analysis::report
