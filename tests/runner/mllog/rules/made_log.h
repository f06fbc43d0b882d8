// Generated logs for tests of the rules, with values that satisfy or break a rule.
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
/// The line in a log of that format; kMlpV05 is not supported.
std::string text_of(const Line& line, LogFormat format = LogFormat::kMllog);
std::string text_of(const Log& log, LogFormat format = LogFormat::kMllog);

/// Rules in a JSON document for usage hpc, round 1.0 and benchmark "toy". `rules` are those of the
/// file "common", `members` its other members.
Ruleset small_rules(const std::string& rules, const std::string& other_files = "",
                    const std::string& members = "");
/// Why small_rules() refuses these rules; "" if it accepts them.
std::string refusal(const std::string& rules, const std::string& other_files = "",
                    const std::string& members = "");
/// The program's own rules.
Ruleset rules_of(const std::string& usage, const std::string& number);

Judgement judged(const Ruleset& rules, const std::string& log,
                 Warnings warnings = Warnings::kAllowed);
/// Judges the log in the round's format.
Judgement judged(const Ruleset& rules, const Log& log, Warnings warnings = Warnings::kAllowed);

/// A variant for every_rule_test: which of a rule's allowed texts is logged.
struct Variant {
  std::string division, benchmark;
  std::string opt_name, scheduler_type;  ///< "" for the first that is allowed
};

/// The files by which a log of this kind is judged, in order.
std::vector<const RuleFile*> chain(const Ruleset& rules, const Variant& variant);
/// The rule for each key of that chain; the last one if there are several.
std::vector<const Rule*> rules_in(const std::vector<const RuleFile*>& chain);

/// A log that satisfies all rules.
Log good_log(const Ruleset& rules, const Variant& variant);
/// JSON that breaks only the rule's check of the value; "" if any value is allowed.
std::string bad_value(const mllog::rules::Predicate& predicate);

}  // namespace made
