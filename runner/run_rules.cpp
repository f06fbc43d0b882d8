// Chooses the round and formats breaks of its rules.
#include "runner/run_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/mllog/rules/choice.h"
#include "runner/mllog/rules/rule_book.h"

namespace runner {
namespace {

namespace rules = mllog::rules;

rules::Choice choose(const rules::RuleBook& book, const RulesOptions& options,
                     const RunConfig& config, const std::string& benchmark,
                     const base::Clock& clock) {
  const rules::Wanted wanted{"", options.round};
  std::error_code error;
  const auto folder = std::filesystem::absolute(results_folder(config), error);
  const std::string path = error ? results_folder(config) : folder.generic_string();
  if (auto choice = rules::choose_by_path(book, wanted, path)) return *choice;
  const rules::Evidence evidence{logged_benchmark(config, benchmark),
                                 static_cast<double>(clock.unix_ms())};
  return rules::choose_by_log(book, wanted, evidence);
}

}  // namespace

void require_round(const std::string& round) {
  const rules::RuleBook& book = rules::embedded_rule_book();
  const rules::Wanted wanted{"", round};
  rules::require_rules(book, wanted);
  const auto choice = rules::choose_by_path(book, wanted, "");
  if (choice && choice->round->log_format != mllog::LogFormat::kMllog) {
    throw base::ConfigError(
        fmt::format("{}: its logs have another format than a run writes", choice->round->name()));
  }
}

RunRules choose_rules(const RulesOptions& options, const RunConfig& config,
                      const std::string& benchmark, const base::Clock& clock) {
  const rules::RuleBook& book = rules::embedded_rule_book();
  const rules::Choice choice = choose(book, options, config, benchmark, clock);
  return {options.mode, book.ruleset(*choice.round), choice.why};
}

std::string logged_benchmark(const RunConfig& config, const std::string& benchmark) {
  return config.submission.benchmark.empty() ? benchmark : config.submission.benchmark;
}

std::string RuleBreak::line() const {
  return fmt::format("{}{}{} [{}]", setting, setting.empty() ? "" : ": ", text, rule);
}

std::int64_t count_errors(const std::vector<RuleBreak>& breaks) {
  return std::count_if(breaks.begin(), breaks.end(), [](const RuleBreak& one) {
    return one.severity == mllog::Finding::Severity::kError;
  });
}

nlohmann::json to_json(const std::vector<RuleBreak>& breaks) {
  nlohmann::json list = nlohmann::json::array();
  for (const RuleBreak& one : breaks) {
    list.push_back({{"severity", mllog::to_string(one.severity)},
                    {"rule", one.rule},
                    {"setting", one.setting},
                    {"text", one.text}});
  }
  return list;
}

}  // namespace runner
