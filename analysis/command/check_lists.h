// The lists that `trainmark check` prints instead of judging: rules, rounds, reference points, and
// explanations of rules.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "analysis/command/check_options.h"
#include "analysis/submission/reference_curve.h"
#include "runner/mllog/rules/rule_book.h"

namespace analysis::command {

/// A list in each output format.
struct Listing {
  std::string text, json;
  std::string svg;  ///< of reference points, if options.plot is set
};

/// The list that the options request; nothing if they request none. Throws ConfigError for an
/// unknown rule, or a round or benchmark without rules or points.
std::optional<Listing> listing(const CheckOptions& options, const mllog::rules::RuleBook& book,
                               std::size_t width);

/// The era that the options name, by default the newest. Throws ConfigError for an unknown name.
const submission::RcpEraFacts& era_of(const CheckOptions& options);

}  // namespace analysis::command
