// The rules that findings name, with what they mean.
// Hides that the audit, the check of submissions and the verdicts keep their rules apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/mllog/catalogue_rule.h"
#include "runner/mllog/rules/rule_book.h"

namespace analysis {

using mllog::CatalogueRule;

/// Those of every verdict, the audit, plans, and the check of a submission, each in its own order.
/// Not those of the rounds' files of rules, which name them "file/key/aspect".
const std::vector<CatalogueRule>& rule_catalogue();

/// What to do about a finding of that rule; "" for a rule that is not in the catalogue.
std::string_view advice_on(std::string_view id);

/// What `trainmark check --explain RULE` prints: a rule of the catalogue in full; for a rule of a
/// verdict, "file/key" or "file/key/aspect", what each round asks of the key; for "all" the
/// catalogue. Throws ConfigError for another name, with the nearest one.
std::string explain_rule(const std::string& id, const mllog::rules::RuleBook& book);

}  // namespace analysis
