// Judges a run before it begins, by a log that is derived from its configuration and data.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runner/console.h"
#include "runner/run_rules.h"
#include "runner/workload.h"

namespace runner {

/// Whether a run starts from scratch or from a checkpoint.
enum class Beginning { kAnew, kResumed };

struct RunToJudge {
  const RunConfig& config;
  const Workload& workload;  ///< after open_data()
  int ranks = 1, nodes = 1;
  Beginning beginning = Beginning::kAnew;
};

/// Errors first. `audit` may be empty.
std::vector<RuleBreak> check_plan(const RunToJudge& run, const RunRules& rules,
                                  const AuditPlan& audit, const base::Clock& clock);

/// The verdict on a run before it begins. Only rank 0 has the rules and breaks.
struct PlanVerdict {
  std::optional<RunRules> rules;
  std::string benchmark;  ///< its name in the log
  std::vector<RuleBreak> breaks;
  bool refused = false;  ///< a strict run breaks a rule; the same on every rank
};

/// Collective. Opens the data of `workload`, without training, and judges the run.
PlanVerdict judge_plan(const RunConfig& config, Workload& workload, const RulesOptions& options,
                       Beginning beginning, const AuditPlan& audit, const Surroundings& around,
                       const base::Clock& clock);

/// Prints the verdict: the first few breaks of a run meant for submission (closed, or with a
/// submitter's name), the number of breaks of other runs, all breaks of a refused run.
void print_verdict(const PlanVerdict& verdict, const RunConfig& config, Console& console);

/// {"round", "ruleset", "why", "errors", "findings"}.
nlohmann::json to_json(const PlanVerdict& verdict);

}  // namespace runner
