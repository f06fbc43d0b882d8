// The round of MLPerf whose rules a run is judged by, and what of them a run breaks.
// Hides how a round is chosen: as `trainmark check` chooses it for the run's log.
#pragma once

#include <functional>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner/base/clock.h"
#include "runner/mllog/finding.h"
#include "runner/mllog/rules/judge.h"
#include "runner/run_config.h"

namespace runner {

enum class RulesMode {
  kOff,
  kWarn,   ///< people are told
  kStrict  ///< a run that breaks a rule is refused, or ended
};

/// What the rules say of the records of a planned run and no rule file holds; given by main.
using AuditPlan = std::function<std::vector<mllog::Finding>(std::istream& log)>;

/// What the command line asks for.
struct RulesOptions {
  RulesMode mode = RulesMode::kWarn;
  std::string round;  ///< "training-4.0"; "": as `check` chooses for a log of today
};

struct RunRules {
  RulesMode mode = RulesMode::kWarn;
  mllog::rules::Ruleset ruleset;
  std::string why;  ///< this round, in one sentence

  std::string round() const { return ruleset.round.name(); }
};

/// Throws ConfigError for a round that is not there or has no rules.
void require_round(const std::string& round);

/// `benchmark`: the workload's own.
RunRules choose_rules(const RulesOptions& options, const RunConfig& config,
                      const std::string& benchmark, const base::Clock& clock);

/// MLPerf's benchmark as the log names it.
std::string logged_benchmark(const RunConfig& config, const std::string& benchmark);

/// One rule that a run breaks, or what somebody who submits it should know.
struct RuleBreak {
  mllog::Finding::Severity severity = mllog::Finding::Severity::kError;  ///< error: breaks the rule
  std::string rule;  ///< "closed_resnet/opt_name/value", as `check` and `check --explain` name it
  std::string setting;  ///< the configuration's key that decides it: "/optimizer/name"; "": unknown
  std::string text;     ///< what was expected and what was found

  /// "/optimizer/name: opt_name: must be one of sgd, lars, got "adagrad" [closed_resnet/...]".
  std::string line() const;
};

/// How many are errors.
std::int64_t count_errors(const std::vector<RuleBreak>& breaks);

nlohmann::json to_json(const std::vector<RuleBreak>& breaks);

}  // namespace runner
