// What `trainmark check` lists instead of judging: rules, rounds, reference points, meanings.
// Hides which round is meant.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "analysis/command/check_options.h"
#include "analysis/submission/reference_curve.h"
#include "runner/mllog/rules/rule_book.h"

namespace analysis::command {

/// A list in its forms.
struct Listing {
  std::string text, json;
  std::string svg;  ///< of reference points, where options.plot asks for it
};

/// Nothing where the options ask for no list. Throws ConfigError for what is not there.
std::optional<Listing> listing(const CheckOptions& options, const mllog::rules::RuleBook& book,
                               std::size_t width);

/// The era that the options name, the newest by default. Throws ConfigError for another name.
const submission::RcpEraFacts& era_of(const CheckOptions& options);

}  // namespace analysis::command
