// Reads rule files in the format that configs/rules/README.md describes.
#include "runner/mllog/rules/dated_rules.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/object_reader.h"
#include "runner/mllog/benchmarks.h"
#include "runner/mllog/rules/name_pattern.h"
#include "runner/mllog/rules/predicate_reader.h"

namespace mllog::rules {
namespace {

using base::ConfigError;
using base::ObjectReader;
using Json = nlohmann::json;
using Texts = std::vector<std::string>;

/// Removes the array of objects under `key` from `object` and returns its items. Needed because an
/// ObjectReader does not support such arrays.
std::vector<Json> take_objects(Json& object, const char* key, const std::string& where) {
  if (!object.is_object()) throw ConfigError(where + ": must be a JSON object");
  const auto found = object.find(key);
  if (found == object.end()) return {};
  if (!found->is_array() || found->empty()) {
    throw ConfigError(where + ": /" + key + ": must be an array of objects, not empty");
  }
  std::vector<Json> items(std::make_move_iterator(found->begin()),
                          std::make_move_iterator(found->end()));
  object.erase(found);
  return items;
}

/// An item's name for messages: its member `key`, or its index.
std::string name_in(const Json& item, const char* key, std::size_t index) {
  const bool named = item.is_object() && item.contains(key) && item[key].is_string();
  return named ? item[key].get<std::string>() : std::to_string(index);
}

Edition read_edition(const ObjectReader& in) {
  Edition when;
  when.since = in.optional<std::string>("since", "", "the first round it belongs to");
  when.until = in.optional<std::string>("until", "", "the last round it belongs to");
  when.except = in.optional<Texts>("except", {}, "rounds between that it does not belong to");
  return when;
}

std::string read_name(const ObjectReader& in, const char* key, const char* help) {
  return in.required<std::string>(key, help, base::not_empty());
}

/// Determines the kind of a check by the key that only this kind has.
Check read_check_kind(const ObjectReader& in) {
  using enum Check::Kind;
  const base::Check<Texts> not_empty{"must not be empty",
                                     [](const Texts& names) { return !names.empty(); }};
  Check check;
  if (in.has("value")) {
    check.kind = kValue;
    check.predicate = read_predicate(in.object("value", "of the value"));
  } else if (in.has("holds")) {
    check.kind = kValue;
    check.predicate = {read_formula(in)};
  } else if (in.has("member")) {
    check.kind = kMember;
    check.names = {read_name(in, "member", "of the metadata")};
    check.predicate = read_predicate(in.object("is", "of that member"));
  } else if (in.has("has")) {
    check.kind = kHasAny;
    check.names = in.required<Texts>("has", "one of these members of the metadata", not_empty);
  } else if (in.has("after")) {
    check.kind = kAfter;
    check.names = {read_name(in, "after", "a key")};
  } else if (in.has("before")) {
    check.kind = kBefore;
    check.names = {read_name(in, "before", "a key")};
  } else if (in.has("minutes_since")) {
    check.kind = kMinutesSince;
    check.names = {read_name(in, "minutes_since", "a key")};
    check.below_minutes = in.required<double>("below", "minutes", base::positive());
    if (in.has("below_in_open")) {
      check.below_minutes_in_open =
          in.required<double>("below_in_open", "minutes, open division", base::positive());
    }
  } else {
    throw ConfigError(in.where() +
                      ": must have one of value, holds, member, has, after, before, minutes_since");
  }
  return check;
}

Dated<Check> read_check(const Json& json, const std::string& where) {
  const ObjectReader in(json, where);
  Dated<Check> dated{read_edition(in), read_check_kind(in)};
  dated.what.where_has = in.optional<std::string>("where_has", "", "only where metadata has this");
  in.reject_unknown();
  return dated;
}

std::vector<Dated<Check>> read_checks(Json& rule, const char* key, const std::string& where) {
  std::vector<Dated<Check>> checks;
  for (const Json& item : take_objects(rule, key, where)) {
    checks.push_back(
        read_check(item, where + ", " + key + " " + std::to_string(checks.size() + 1)));
  }
  return checks;
}

Occurrence read_occurrence(const ObjectReader& in, const std::string& key) {
  using enum Occurrence::Kind;
  Occurrence occurs;
  occurs.kind = in.choice<Occurrence::Kind>("occurs", kAny,
                                            {{"any", kAny},
                                             {"optional", kOptional},
                                             {"exactly_one", kExactlyOne},
                                             {"at_least_one", kAtLeast},
                                             {"at_least", kAtLeast},
                                             {"at_least_one_of", kAtLeastOneOf}},
                                            "how often the key must occur");
  if (occurs.kind == kAtLeast) {
    occurs.times = in.optional<std::int64_t>("times", 1, "how often at least", base::at_least(1));
  } else if (occurs.kind == kAtLeastOneOf) {
    occurs.keys = in.required<Texts>("of", "the keys; the first is blamed");
    if (std::find(occurs.keys.begin(), occurs.keys.end(), key) == occurs.keys.end()) {
      throw ConfigError(in.where("of") + ": must hold the rule's own key " + key);
    }
  }
  return occurs;
}

Then read_then(const ObjectReader& in, bool& or_common_rules_alone) {
  Then then;
  then.file = read_name(in, "file", "that follows; {} stands for the value");
  then.where = in.optional<std::string>("where", "", "only for this value");
  then.lower_case = in.optional<bool>("lower_case", false, "the value in lower case");
  or_common_rules_alone = in.optional<bool>("or_common_rules_alone", false,
                                            "no file is needed for what the round lists");
  in.reject_unknown();
  const bool has_hole = then.file.find("{}") != std::string::npos;
  if (has_hole != then.where.empty()) {
    throw ConfigError(in.where("file") + ": must hold {} or go with \"where\", got " + then.file);
  }
  return then;
}

ExactlyThese read_exactly_these(const ObjectReader& in) {
  ExactlyThese these;
  these.member = read_name(in, "member", "of the metadata");
  for (const std::string& pattern : in.required<Texts>("names", "patterns like a{1,2}")) {
    const Texts names = expanded(pattern, in.where("names"));
    these.names.insert(these.names.end(), names.begin(), names.end());
  }
  in.reject_unknown();
  std::sort(these.names.begin(), these.names.end());
  if (these.names.empty() ||
      std::adjacent_find(these.names.begin(), these.names.end()) != these.names.end()) {
    throw ConfigError(in.where("names") + ": must hold names, each once");
  }
  return these;
}

Gathered read_gathered(const ObjectReader& in) {
  Gathered gathered;
  gathered.from = read_name(in, "from", "the key whose records are gathered");
  gathered.position = read_name(in, "position", "the member of their metadata that tells where");
  gathered.part = read_name(in, "part", "the member of their metadata that tells what");
  in.reject_unknown();
  return gathered;
}

std::vector<Assignment> read_assignments(const ObjectReader& in, const char* key,
                                         const char* help) {
  std::vector<Assignment> assignments;
  for (const std::string& text : in.optional<Texts>(key, {}, help)) {
    assignments.push_back(parse_assignment(text, in.where(key)));
  }
  return assignments;
}

/// Reads one JSON rule. A key with braces stands for several keys and gives a rule for each.
std::vector<DatedRule> read_rules_of(Json json, const std::string& where) {
  DatedRule dated;
  dated.where = where;
  dated.checks = read_checks(json, "checks", where);
  dated.first_checks = read_checks(json, "first_checks", where);
  const ObjectReader in(json, where);
  Rule& rule = dated.rule;
  rule.key = read_name(in, "key", "the log key");
  dated.when = read_edition(in);
  dated.removed = in.optional<bool>("removed", false, "takes away an earlier document's rule");
  rule.occurs = read_occurrence(in, rule.key);
  if (in.has("gathered")) rule.gathered = read_gathered(in.object("gathered", "made of others"));
  rule.sets = read_assignments(in, "sets", "names, after each record");
  if (in.has("value")) {
    Check check;
    check.predicate = read_predicate(in.object("value", "of every record"));
    dated.checks.insert(dated.checks.begin(), {Edition(), check});
  }
  if (in.has("once")) rule.once = read_predicate(in.object("once", "of one record at least"));
  if (in.has("then")) {
    rule.then = read_then(in.object("then", "what follows"), dated.or_common_rules_alone);
  }
  if (in.has("exactly_these")) {
    rule.exactly_these = read_exactly_these(in.object("exactly_these", "of the metadata"));
  }
  in.reject_unknown();
  const Texts keys = expanded(rule.key, in.where("key"));
  std::vector<DatedRule> rules(keys.size(), dated);
  for (std::size_t i = 0; i < keys.size(); ++i) rules[i].rule.key = keys[i];
  return rules;
}

DatedFile read_file(Json json, const std::string& where, const FileFilter& wanted) {
  DatedFile file;
  file.where = where;
  std::vector<Json> rules = take_objects(json, "rules", where);
  const ObjectReader in(json, where);
  file.name = read_name(in, "file", "its name, which other rules follow to");
  file.when = read_edition(in);
  file.begins_with = read_assignments(in, "begins_with", "names, before the first record");
  for (const std::string& text : in.optional<Texts>("at_end", {}, "formulas that must hold")) {
    file.at_end.emplace_back(text, in.where("at_end"));
  }
  in.reject_unknown();
  if (wanted && !wanted(file)) return file;
  for (Json& rule : rules) {
    const std::string rule_where = where + ", rule " + name_in(rule, "key", file.rules.size() + 1);
    for (DatedRule& one : read_rules_of(std::move(rule), rule_where)) {
      file.rules.push_back(std::move(one));
    }
  }
  return file;
}

std::optional<LogFormat> format_of(const std::string& token) {
  for (const LogFormat format : {LogFormat::kMllog, LogFormat::kMll, LogFormat::kMlpV05}) {
    if (token_of(format) == token) return format;
  }
  return {};
}

Round read_round(const Json& json, const std::string& usage, const std::string& where) {
  const ObjectReader in(json, where);
  Round round;
  round.usage = usage;
  round.number =
      in.required<std::string>("round", "its number", {"must look like 4.0", is_round_number});
  round.published = in.optional<std::string>("published", "", "the day of its results, YYYY-MM-DD");
  round.source = in.optional<std::string>("source", "", "where its rules come from");
  const auto token = in.optional<std::string>(
      "log_format", std::string(token_of(LogFormat::kMllog)), "what begins its logs' records",
      {"must be :::MLLOG, :::MLL or :::MLPv0.5",
       [](const std::string& text) { return format_of(text).has_value(); }});
  round.log_format = *format_of(token);
  round.no_rules_because = in.optional<std::string>("no_rules_because", "", "why it has none");
  round.benchmarks = in.optional<Texts>("benchmarks", {}, "what it lists in both divisions");
  round.closed_benchmarks = in.optional<Texts>("closed_benchmarks", {}, "in the closed one only");
  round.no_rules = in.optional<Texts>("no_rules", {}, "listed, but without rules upstream");
  round.no_open_rules = in.optional<Texts>("no_open_rules", {}, "the same, open division only");
  in.reject_unknown();
  if (round.benchmarks.empty() == round.no_rules_because.empty()) {
    throw ConfigError(where + ": must have either benchmarks or no_rules_because");
  }
  return round;
}

}  // namespace

RuleDocument read_rules(Json json, const std::string& name, const FileFilter& wanted) {
  RuleDocument document;
  document.name = name;
  const std::vector<Json> rounds = take_objects(json, "rounds", name);
  std::vector<Json> files = take_objects(json, "files", name);
  const ObjectReader in(json, name);
  document.usage = in.required<std::string>(
      "usage", "training or hpc", {"must be training or hpc", [](const std::string& usage) {
                                     return usage == "training" || usage == "hpc";
                                   }});
  in.reject_unknown();
  if (rounds.empty() && files.empty()) throw ConfigError(name + ": must have rounds or files");
  for (const Json& round : rounds) {
    document.rounds.push_back(
        read_round(round, document.usage,
                   name + ", round " + name_in(round, "round", document.rounds.size() + 1)));
  }
  for (Json& file : files) {
    const std::string where = name + ", file " + name_in(file, "file", document.files.size() + 1);
    document.files.push_back(read_file(std::move(file), where, wanted));
  }
  return document;
}

}  // namespace mllog::rules
