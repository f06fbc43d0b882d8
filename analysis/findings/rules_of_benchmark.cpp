// The rule files that may apply to a log of one benchmark.
#include "analysis/findings/rules_of_benchmark.h"

#include <algorithm>

#include "runner/mllog/keys.h"

namespace analysis {
namespace {

using mllog::rules::RuleFile;
using mllog::rules::Ruleset;

/// The names of the files that `rule.then` may choose: for this benchmark, and for all values that
/// other keys may have.
std::vector<std::string> choices(const mllog::rules::Rule& rule, const std::string& benchmark) {
  std::string name = rule.then->file;
  const std::size_t hole = name.find("{}");
  if (hole == std::string::npos) return {name};
  std::vector<std::string> values = {benchmark};
  if (rule.key != mllog::keys::kSubmissionBenchmark) {
    values.clear();
    for (const auto& check : rule.checks) {
      for (const auto& condition : check.predicate) {
        values.insert(values.end(), condition.texts.begin(), condition.texts.end());
      }
    }
  }
  std::vector<std::string> names;
  for (const std::string& value : values) {
    names.push_back(std::string(name).replace(hole, 2, value));
  }
  return names;
}

}  // namespace

std::vector<const RuleFile*> files_for(const Ruleset& ruleset, const std::string& benchmark) {
  std::vector<const RuleFile*> files = {&ruleset.files[0]};
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const mllog::rules::Rule& rule : files[i]->rules) {
      if (!rule.then) continue;
      for (const std::string& name : choices(rule, benchmark)) {
        const RuleFile* const next = ruleset.find(name);
        const bool known = std::find(files.begin(), files.end(), next) != files.end();
        if (next != nullptr && !known) files.push_back(next);
      }
    }
  }
  return files;
}

}  // namespace analysis
