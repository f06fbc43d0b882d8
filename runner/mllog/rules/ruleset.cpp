// Look-ups in the rules of one round.
#include "runner/mllog/rules/ruleset.h"

#include <algorithm>

namespace mllog::rules {
namespace {

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

const Rule* RuleFile::find(const std::string& key) const {
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.key == key; });
  return found == rules.end() ? nullptr : &*found;
}

std::string RuleFile::division() const {
  for (const char* const division : {"closed", "open"}) {
    if (name.starts_with(division)) return division;
  }
  return "";
}

const RuleFile* Ruleset::find(const std::string& file) const {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const RuleFile& one) { return one.name == file; });
  return found == files.end() ? nullptr : &*found;
}

bool Round::lists(const std::string& benchmark) const {
  return holds(benchmarks, benchmark) || holds(closed_benchmarks, benchmark);
}

std::vector<std::string> Round::listed_in(const std::string& division) const {
  std::vector<std::string> names = benchmarks;
  if (division == "closed") {
    names.insert(names.end(), closed_benchmarks.begin(), closed_benchmarks.end());
  }
  return names;
}

bool Round::judges(const std::string& benchmark) const {
  return lists(benchmark) && !holds(no_rules, benchmark);
}

}  // namespace mllog::rules
