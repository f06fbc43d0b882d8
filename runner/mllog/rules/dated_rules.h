// Rules as stored in their files: each with the rounds that it applies to.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner/mllog/rules/ruleset.h"

namespace mllog::rules {

/// The rounds to which something applies, by number; "" for no bound.
struct Edition {
  std::string since, until;
  std::vector<std::string> except;
};

template <class T>
struct Dated {
  Edition when;
  T what;
};

/// A rule with its rounds; each of its checks has its own.
struct DatedRule {
  std::string where;  ///< for messages
  Edition when;
  bool removed = false;  ///< deletes the rule of an earlier document
  bool or_common_rules_alone = false;
  Rule rule;
  std::vector<Dated<Check>> checks, first_checks;
};

struct DatedFile {
  std::string where, name;
  Edition when;
  std::vector<Assignment> begins_with;
  std::vector<Formula> at_end;
  std::vector<DatedRule> rules;
};

/// One JSON file of rules.
struct RuleDocument {
  std::string name, usage;
  std::vector<Round> rounds;
  std::vector<DatedFile> files;
};

/// Selects the files of a document to read; empty: all. Other files get no rules.
using FileFilter = std::function<bool(const DatedFile&)>;

/// Checks everything that does not depend on the round: kinds, ranges, unknown keys. Throws
/// ConfigError with the place.
RuleDocument read_rules(nlohmann::json json, const std::string& name,
                        const FileFilter& wanted = {});

}  // namespace mllog::rules
