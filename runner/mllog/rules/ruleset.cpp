// The rules of one round: looking things up in them.
// Hides nothing.
#include "runner/mllog/rules/ruleset.h"

#include <algorithm>

namespace mllog::rules {

const Rule* RuleFile::find(const std::string& key) const {
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.key == key; });
  return found == rules.end() ? nullptr : &*found;
}

const RuleFile* Ruleset::find(const std::string& file) const {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const RuleFile& one) { return one.name == file; });
  return found == files.end() ? nullptr : &*found;
}

bool Round::lists(const std::string& benchmark) const {
  const auto holds = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), benchmark) != names.end();
  };
  return holds(benchmarks) || holds(closed_benchmarks);
}

}  // namespace mllog::rules
