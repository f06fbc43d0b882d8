// The rules of the package check.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runner/mllog/catalogue_rule.h"

namespace analysis::submission {

using Severity = mllog::Finding::Severity;

/// All rules, for lists and explanations.
std::span<const mllog::CatalogueRule> package_rules();

/// A finding with the severity of the rule. Throws Error for an unknown rule, or one whose severity
/// depends on the package.
mllog::Finding package_finding(std::string_view rule, std::string text, std::int64_t line = 0,
                               std::int64_t column = 0);

}  // namespace analysis::submission
