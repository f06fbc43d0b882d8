// The catalogue entries of plan rules.
#include "runner/mllog/rules/plan_rules.h"

#include <array>

#include "runner/base/enum_table.h"

namespace mllog::rules {
namespace {

using enum Finding::Severity;

constexpr std::array kRules = {
    PlanRule{PlanRuleName::kClosedSetting, "closed-setting", kError,
             "A setting of the model, the optimizer or the data differs from the one that the "
             "closed division fixes.",
             "MLPerf training policies, Closed division",
             "Set the value that the finding names, or submit to the open division."},
    PlanRule{PlanRuleName::kCachesKept, "caches-kept", kError,
             "The configuration keeps the caches of the system, which a run has to clear.",
             "MLPerf training policies, Run Results",
             "Set clear_caches to auto, or to required, which refuses to run where it cannot."},
    PlanRule{PlanRuleName::kNoSubmitter, "no-submitter", kWarning,
             "The configuration names nobody who submits the run.",
             "MLPerf training policies, Submission structure", "Set submission.org."},
    PlanRule{PlanRuleName::kRunResumed, "run-resumed", kError,
             "The run goes on from a checkpoint: its log has only a part of it.",
             "MLPerf training policies, Run Results",
             "Such a run has no time to train and cannot be submitted."}};

static_assert(base::is_in_enum_order(kRules, &PlanRule::name));

}  // namespace

std::span<const PlanRule> plan_rules() { return kRules; }

const CatalogueRule& plan_rule(PlanRuleName name) {
  return kRules[static_cast<std::size_t>(name)].entry;
}

}  // namespace mllog::rules
