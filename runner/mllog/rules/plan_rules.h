// Rules about settings that no log key shows; a run's plan is judged by them.
#pragma once

#include <cstdint>
#include <span>

#include "runner/mllog/catalogue_rule.h"

namespace mllog::rules {

enum class PlanRuleName : std::uint8_t { kClosedSetting, kCachesKept, kNoSubmitter, kRunResumed };

struct PlanRule {
  PlanRuleName name;
  CatalogueRule entry;  ///< with a severity
};

/// All of them, in the order of PlanRuleName.
std::span<const PlanRule> plan_rules();
const CatalogueRule& plan_rule(PlanRuleName name);

}  // namespace mllog::rules
