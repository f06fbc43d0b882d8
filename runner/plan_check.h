// Judges a run before it begins, by what its configuration and data decide.
// Hides that the judge reads a log which is not written yet.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runner/console.h"
#include "runner/run_rules.h"
#include "runner/workload.h"

namespace runner {

/// Whether a run begins or goes on from a checkpoint.
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

/// What is known of a run before it begins. The rules and breaks are rank 0's alone.
struct PlanVerdict {
  std::optional<RunRules> rules;
  std::string benchmark;  ///< as the log names it
  std::vector<RuleBreak> breaks;
  bool refused = false;  ///< a strict run that breaks a rule; the same on every rank
};

/// Collective. Opens the data of `workload`, which trains nothing, and judges the run.
PlanVerdict judge_plan(const RunConfig& config, Workload& workload, const RulesOptions& options,
                       Beginning beginning, const AuditPlan& audit, const Surroundings& around,
                       const base::Clock& clock);

/// Tells people once: of a run that somebody means to submit (closed, or with a submitter's name)
/// the first few breaks, of others how many there are; of a refused run all.
void tell(const PlanVerdict& verdict, const RunConfig& config, Console& console);

/// {"round", "ruleset", "why", "errors", "findings"}.
nlohmann::json to_json(const PlanVerdict& verdict);

}  // namespace runner
