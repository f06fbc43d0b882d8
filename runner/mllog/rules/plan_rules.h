// The rules about settings that no key of a log tells: a run's plan is judged by them beforehand.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runner/mllog/finding.h"

namespace mllog::rules {

enum class PlanRuleName : std::uint8_t { kClosedSetting, kCachesKept, kNoSubmitter, kRunResumed };

struct PlanRule {
  PlanRuleName name;
  std::string_view id;  ///< stable: reports and scripts name it
  Finding::Severity severity;
  std::string_view meaning;
  std::string_view source;
  std::string_view advice;
};

/// All of them, in the order of the enumeration.
std::span<const PlanRule> plan_rules();
const PlanRule& plan_rule(PlanRuleName name);

}  // namespace mllog::rules
