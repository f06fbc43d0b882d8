// Rules as their files hold them: each with the rounds it belongs to.
// Hides the format of those files.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner/mllog/rules/ruleset.h"

namespace mllog::rules {

/// The rounds that something belongs to, by their numbers; "" for no bound.
struct Edition {
  std::string since, until;
  std::vector<std::string> except;
};

template <class T>
struct Dated {
  Edition when;
  T what;
};

/// A rule whose checks stand apart, each with its rounds.
struct DatedRule {
  std::string where;  ///< for messages
  Edition when;
  bool removed = false;  ///< takes away the rule of an earlier document
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

/// Which files of a document are read; none: all. The others have no rules.
using FileFilter = std::function<bool(const DatedFile&)>;

/// Checks all that can be seen without knowing the round: kinds, ranges, unknown keys. Throws
/// ConfigError with the place.
RuleDocument read_rules(nlohmann::json json, const std::string& name,
                        const FileFilter& wanted = {});

}  // namespace mllog::rules
