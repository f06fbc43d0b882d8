// The rules about settings that no key of a log tells: a run's plan is judged by them beforehand.
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

/// All of them, in the order of the enumeration.
std::span<const PlanRule> plan_rules();
const CatalogueRule& plan_rule(PlanRuleName name);

}  // namespace mllog::rules
