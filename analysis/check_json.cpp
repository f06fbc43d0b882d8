// Verdicts, rules and rounds as JSON documents.
// Hides their keys.
#include <nlohmann/json.hpp>

#include "analysis/printable.h"
#include "analysis/rules_of_benchmark.h"
#include "analysis/write_check.h"
#include "runner/mllog/rules/words.h"

namespace analysis {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;
constexpr int kIndent = 1;

/// Null for the whole file.
Json place(std::int64_t number) { return number > 0 ? Json(number) : Json(nullptr); }

Json finding_json(const mllog::Finding& finding) {
  return {{"rule", printable(finding.rule)},
          {"severity", to_string(finding.severity)},
          {"line", place(finding.line)},
          {"column", place(finding.column)},
          {"text", printable(finding.text)}};
}

Json file_json(const CheckedFile& file) {
  const mllog::rules::Judgement& judgement = file.judgement;
  Json findings = Json::array(), audited = Json::array();
  for (const auto& found : judgement.findings) {
    Json one = finding_json(found.finding);
    one["key"] = found.key.empty() ? Json(nullptr) : Json(printable(found.key));
    findings.push_back(std::move(one));
  }
  for (const mllog::Finding& finding : file.audit) audited.push_back(finding_json(finding));
  return {{"verdict", judgement.passes ? "SUCCESS" : "FAIL"},
          {"ruleset", judgement.ruleset},
          {"why_this_ruleset", printable(file.why_this_ruleset)},
          {"rule_files", judgement.files},
          {"failing_keys", judgement.failing_keys},
          {"findings", findings},
          {"audit", audited}};
}

std::string text_of(const Json& json) { return json.dump(kIndent) + "\n"; }

}  // namespace

std::string check_json_text(const CheckReport& report) {
  Json files = Json::object();
  for (const CheckedFile& file : report.files) files[printable(file.name)] = file_json(file);
  Json problems = Json::array();
  for (const Problem& problem : report.problems) {
    problems.push_back({{"path", printable(problem.path)}, {"text", printable(problem.text)}});
  }
  return text_of({{"schema", kSchema}, {"files", files}, {"problems", problems}});
}

std::string rules_json_text(const mllog::rules::Ruleset& ruleset, const std::string& benchmark) {
  Json files = Json::array();
  for (const mllog::rules::RuleFile* file : files_for(ruleset, benchmark)) {
    Json rules = Json::array();
    for (const mllog::rules::Rule& rule : file->rules) {
      rules.push_back({{"key", rule.key}, {"asks", mllog::rules::words(rule)}});
    }
    files.push_back({{"file", file->name}, {"rules", rules}});
  }
  return text_of({{"schema", kSchema},
                  {"ruleset", ruleset.name},
                  {"source", ruleset.round.source},
                  {"benchmark", benchmark},
                  {"files", files}});
}

std::string rounds_json_text(const mllog::rules::RuleBook& book) {
  Json rounds = Json::array();
  for (const mllog::rules::Round& round : book.rounds()) {
    rounds.push_back(
        {{"round", round.name()},
         {"published", round.published.empty() ? Json(nullptr) : Json(round.published)},
         {"benchmarks", round.benchmarks},
         {"closed_benchmarks", round.closed_benchmarks},
         {"source", round.source},
         {"no_rules_because",
          round.no_rules_because.empty() ? Json(nullptr) : Json(round.no_rules_because)}});
  }
  return text_of({{"schema", kSchema}, {"rounds", rounds}});
}

}  // namespace analysis
