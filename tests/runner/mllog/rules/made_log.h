// Logs made for tests of the rules.
// Hides the form of a record, and values that satisfy a rule or break it.
#pragma once

#include <string>
#include <vector>

#include "runner/mllog/rules/judge.h"
#include "runner/mllog/rules/ruleset.h"

namespace made {

using mllog::rules::Judgement;
using mllog::rules::Rule;
using mllog::rules::RuleFile;
using mllog::rules::Ruleset;
using mllog::rules::Warnings;

/// A record; value and metadata are JSON.
struct Line {
  std::string key;
  std::string value = "null";
  std::string metadata = "{}";
  double time_ms = 1.6e12;
};
using Log = std::vector<Line>;

using mllog::LogFormat;
/// As a log of that format has it, which is not kMlpV05.
std::string text_of(const Line& line, LogFormat format = LogFormat::kMllog);
std::string text_of(const Log& log, LogFormat format = LogFormat::kMllog);

/// The rules in a document of JSON, with usage hpc, round 1.0 and benchmark "toy" around it;
/// `rules` are those of the file "common", `members` what else it has.
Ruleset small_rules(const std::string& rules, const std::string& other_files = "",
                    const std::string& members = "");
/// The program's own.
Ruleset rules_of(const std::string& usage, const std::string& number);

Judgement judged(const Ruleset& rules, const std::string& log,
                 Warnings warnings = Warnings::kAllowed);
/// The log in the format of the round.
Judgement judged(const Ruleset& rules, const Log& log, Warnings warnings = Warnings::kAllowed);

/// What every_rule_test varies: which of a rule's allowed texts is logged.
struct Variant {
  std::string division, benchmark;
  std::string opt_name, scheduler_type;  ///< "" for the first that is allowed
};

/// The files that a log of this kind is judged by, in their order.
std::vector<const RuleFile*> chain(const Ruleset& rules, const Variant& variant);
/// The rule for each key of that chain: of several the last.
std::vector<const Rule*> rules_in(const std::vector<const RuleFile*>& chain);

/// A log that satisfies them all.
Log good_log(const Ruleset& rules, const Variant& variant);
/// JSON that breaks the rule's check of the value alone; "" where any value will do.
std::string bad_value(const mllog::rules::Predicate& predicate);

}  // namespace made
