// The rules that findings name, with explanations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/mllog/catalogue_rule.h"
#include "runner/mllog/rules/rule_book.h"

namespace analysis {

using mllog::CatalogueRule;

/// The rules of every verdict, the audit, plans, and the check of a submission, each group in its
/// own order. Does not include the rules in the rule files of rounds, which findings name
/// "file/key/aspect".
const std::vector<CatalogueRule>& rule_catalogue();

/// What to do about a finding of rule `id`; "" for a rule that is not in the catalogue.
std::string_view advice_on(std::string_view id);

/// What `trainmark check --explain RULE` prints: a rule of the catalogue in full; for a rule of a
/// verdict, "file/key" or "file/key/aspect", what each round requires of the key; for "all" the
/// catalogue. Throws ConfigError for an unknown rule, naming the nearest one.
std::string explain_rule(const std::string& id, const mllog::rules::RuleBook& book);

}  // namespace analysis
