// Rules and rounds as JSON documents.
#include "analysis/report/json/rules.h"

#include <nlohmann/json.hpp>

#include "analysis/findings/rules_of_benchmark.h"
#include "runner/base/json_text.h"
#include "runner/mllog/rules/words.h"

namespace analysis::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kRulesSchema = 1;

}  // namespace

std::string rules_json_text(const mllog::rules::Ruleset& ruleset, const std::string& benchmark) {
  Json files = Json::array();
  for (const mllog::rules::RuleFile* file : files_for(ruleset, benchmark)) {
    Json rules = Json::array();
    for (const mllog::rules::Rule& rule : file->rules) {
      rules.push_back({{"key", rule.key}, {"asks", mllog::rules::words(rule)}});
    }
    files.push_back({{"file", file->name}, {"rules", rules}});
  }
  const Json document = {{"schema", kRulesSchema},
                         {"ruleset", ruleset.name},
                         {"source", ruleset.round.source},
                         {"benchmark", benchmark},
                         {"files", files}};
  return base::json_text(document);
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
  const Json document = {{"schema", kRulesSchema}, {"rounds", rounds}};
  return base::json_text(document);
}

}  // namespace analysis::report
