// The MLPerf round whose rules judge a run, and the rules that a run breaks. The round is chosen as
// `trainmark check` would for the run's log.
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
  kWarn,   ///< breaks are reported
  kStrict  ///< a run that breaks a rule is refused, or ended
};

/// Audits a planned run's records for what no rule file covers; supplied by main.
using AuditPlan = std::function<std::vector<mllog::Finding>(std::istream& log)>;

/// The command line's options.
struct RulesOptions {
  RulesMode mode = RulesMode::kWarn;
  std::string round;  ///< "training-4.0"; "": as `check` chooses for a log written today
};

struct RunRules {
  RulesMode mode = RulesMode::kWarn;
  mllog::rules::Ruleset ruleset;
  std::string why;  ///< why this round, in one sentence

  std::string round() const { return ruleset.round.name(); }
};

/// Throws ConfigError if the round does not exist or has no rules.
void require_round(const std::string& round);

/// `benchmark`: the workload's own name.
RunRules choose_rules(const RulesOptions& options, const RunConfig& config,
                      const std::string& benchmark, const base::Clock& clock);

/// MLPerf's name of the benchmark, as in the log.
std::string logged_benchmark(const RunConfig& config, const std::string& benchmark);

/// A rule that a run breaks, or a hint for submitters.
struct RuleBreak {
  mllog::Finding::Severity severity = mllog::Finding::Severity::kError;  ///< kError: breaks the
                                                                         ///< rule
  std::string rule;     ///< "closed_resnet/opt_name/value", as in `check` and `check --explain`
  std::string setting;  ///< the configuration key that decides it: "/optimizer/name"; "": unknown
  std::string text;     ///< expected and found values

  /// "/optimizer/name: opt_name: must be one of sgd, lars, got "adagrad" [closed_resnet/...]".
  std::string line() const;
};

/// The number of breaks with severity kError.
std::int64_t count_errors(const std::vector<RuleBreak>& breaks);

nlohmann::json to_json(const std::vector<RuleBreak>& breaks);

}  // namespace runner
