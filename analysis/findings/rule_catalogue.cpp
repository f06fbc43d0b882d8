// The rules that findings name, with explanations.
#include "analysis/findings/rule_catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "analysis/audit_rules.h"
#include "analysis/submission/package_rules.h"
#include "runner/base/error.h"
#include "runner/base/object_reader.h"
#include "runner/mllog/rules/plan_rules.h"
#include "runner/mllog/rules/words.h"

namespace analysis {
namespace {

using enum mllog::Finding::Severity;

/// The rules of verdicts that are in no rule file.
constexpr CatalogueRule kOfVerdicts[] = {
    {"verdict", kError,
     "A log, folder or file breaks a rule of its round or of submissions; as a warning: what its "
     "round asks of it is not known here.",
     "this program, in SARIF", "The findings beside it tell what to do."},
    {"log/record", kError,
     "What follows the token ':::MLLOG ' is a record: a JSON object with its members.",
     "mlcommons/logging compliance_checker",
     "Mend the log's writer: each record on a line of its own, written at once."},
    {"log/records", kError, "A log holds at least one record.",
     "mlcommons/logging compliance_checker", "Name the file that the run's records went to."},
    {"log/unreadable", kError,
     "What is named on the command line, and each log in it, can be read.", "this program",
     "Mend the path or its permissions."},
    {"log/format", kNote, "Logs of formats that are not judged here have the verdict UNKNOWN.",
     "mlcommons/logging compliance_checker", "Judge it by a checker of its time."}};

std::string list_of_all() {
  std::size_t widest = 0;
  for (const CatalogueRule& rule : rule_catalogue()) widest = std::max(widest, rule.id.size());
  std::string list;
  for (const CatalogueRule& rule : rule_catalogue()) {
    const std::string_view severity = rule.severity ? to_string(*rule.severity) : "depends";
    list += fmt::format("{:<{}}  {:<7}  {}\n", rule.id, widest, severity, rule.meaning);
  }
  return list +
         "Further rules of verdicts, such as common/run_stop/count, are listed by --rules.\n";
}

std::string text_of(const CatalogueRule& rule) {
  std::string text = std::string(rule.id);
  if (rule.severity) text += fmt::format(" ({})", to_string(*rule.severity));
  text += fmt::format("\n  {}\n  Source: {}.\n", rule.meaning, rule.source);
  return rule.advice.empty() ? text : text + fmt::format("  What to do: {}\n", rule.advice);
}

/// What the rounds require of `key` in `file`, grouped by equal requirements; "" if no round has
/// it.
std::string text_of_verdict_rule(const std::string& file, const std::string& key,
                                 const mllog::rules::RuleBook& book) {
  std::vector<std::pair<std::string, std::vector<std::string>>> asked;  // words, rounds
  for (const mllog::rules::Round& round : book.rounds()) {
    if (!round.no_rules_because.empty()) continue;
    const mllog::rules::Ruleset ruleset = book.ruleset(round);
    const mllog::rules::RuleFile* const rules = ruleset.find(file);
    const mllog::rules::Rule* const rule = rules ? rules->find(key) : nullptr;
    if (rule == nullptr) continue;
    const std::string words = fmt::format("{}", fmt::join(mllog::rules::words(*rule), "; "));
    const auto same = std::find_if(asked.begin(), asked.end(),
                                   [&](const auto& held) { return held.first == words; });
    if (same == asked.end()) {
      asked.push_back({words, {round.name()}});
    } else {
      same->second.push_back(round.name());
    }
  }
  std::string text;
  for (const auto& [words, rounds] : asked) {
    text += fmt::format("  {}\n    in {}\n", words, fmt::join(rounds, ", "));
  }
  return text.empty() ? text : fmt::format("{}/{} (verdict)\n{}", file, key, text);
}

std::string explain_verdict_rule(const std::string& id, const mllog::rules::RuleBook& book) {
  const std::size_t slash = id.find('/');
  if (slash == std::string::npos) return "";
  const std::string behind = id.substr(slash + 1);
  return text_of_verdict_rule(id.substr(0, slash), behind.substr(0, behind.find('/')), book);
}

}  // namespace

const std::vector<CatalogueRule>& rule_catalogue() {
  static const std::vector<CatalogueRule> all = [] {
    std::vector<CatalogueRule> rules(std::begin(kOfVerdicts), std::end(kOfVerdicts));
    for (const AuditRule& rule : audit_rules()) rules.push_back(rule.entry);
    for (const mllog::rules::PlanRule& rule : mllog::rules::plan_rules()) {
      // Also a rule of the audit, and so listed already.
      if (rule.name != mllog::rules::PlanRuleName::kRunResumed) rules.push_back(rule.entry);
    }
    const auto of_packages = submission::package_rules();
    rules.insert(rules.end(), of_packages.begin(), of_packages.end());
    return rules;
  }();
  return all;
}

std::string_view advice_on(std::string_view id) {
  const std::vector<CatalogueRule>& all = rule_catalogue();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const CatalogueRule& rule) { return rule.id == id; });
  return found == all.end() ? std::string_view() : found->advice;
}

std::string explain_rule(const std::string& id, const mllog::rules::RuleBook& book) {
  if (id == "all") return list_of_all();
  std::vector<std::string> ids;
  for (const CatalogueRule& rule : rule_catalogue()) {
    if (rule.id == id) return text_of(rule);
    ids.emplace_back(rule.id);
  }
  if (std::string text = explain_verdict_rule(id, book); !text.empty()) return text;
  const std::string nearest = base::nearest_name(id, ids);
  throw base::ConfigError(fmt::format("--explain {}: no such rule{}; 'all' lists them", id,
                                      nearest.empty() ? "" : " (did you mean " + nearest + "?)"));
}

}  // namespace analysis
