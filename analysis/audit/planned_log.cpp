// Audit of a run before it starts.
#include "analysis/audit/planned_log.h"

#include <algorithm>
#include <array>

#include "analysis/audit/audit.h"
#include "analysis/facts_of_log.h"
#include "analysis/log_file.h"

namespace analysis {
namespace {

/// An audit rule that a configuration alone decides.
struct DecidedByPlan {
  Rule rule;
  bool breaks_rules;  ///< a reviewer would refuse the run
};
constexpr std::array kDecided = {
    DecidedByPlan{Rule::kHyperparameter, true},    DecidedByPlan{Rule::kSampleCount, true},
    DecidedByPlan{Rule::kEvaluationCadence, true}, DecidedByPlan{Rule::kFirstEvaluation, true},
    DecidedByPlan{Rule::kTargetNotOfRules, true},  DecidedByPlan{Rule::kPlaceholder, false},
};

}  // namespace

std::vector<Finding> audit_planned_log(std::istream& log) {
  const ParsedLog parsed = parse_log(log);
  std::vector<Finding> findings;
  for (Finding& finding : audit(parsed, facts_of(parsed))) {
    const auto* const decided = std::find_if(
        kDecided.begin(), kDecided.end(),
        [&](const DecidedByPlan& one) { return audit_rule(one.rule).id == finding.rule; });
    if (decided == kDecided.end()) continue;
    if (decided->breaks_rules) finding.severity = Finding::Severity::kError;
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace analysis
