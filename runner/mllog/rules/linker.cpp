// Resolves references of a file's rules to each other, to other files and to the round.
#include "runner/mllog/rules/linker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/mllog/benchmarks.h"
#include "runner/mllog/keys.h"

namespace mllog::rules {
namespace {

using base::ConfigError;

Condition::Kind kind_of(const TargetPart& part) {
  const bool rises = part.direction == Direction::kRises;
  if (part.beyond) return rises ? Condition::Kind::kAbove : Condition::Kind::kBelow;
  return rises ? Condition::Kind::kAtLeast : Condition::Kind::kAtMost;
}

/// A benchmark's target in a round as a condition.
Condition target_of(const Benchmark& benchmark, const std::string& round,
                    const std::string& where) {
  const std::vector<TargetPart>& large = benchmark.evaluation(round).target.parts;
  const std::optional<double> limit = benchmark.batch_limit(round);
  const bool is_plain = large.size() == 1 && large[0].name().empty();
  if (is_plain && !limit) return {kind_of(large[0]), large[0].value, {}, {}};
  std::vector<std::string> terms;
  for (std::size_t i = 0; i < large.size(); ++i) {
    std::string value = fmt::format("{}", large[i].value);
    if (limit) {
      const double smaller = benchmark.evaluation(round, *limit / 2).target.parts.at(i).value;
      value =
          fmt::format("({} if {} < {} else {})", smaller, keys::kGlobalBatchSize, *limit, value);
    }
    const std::string& name = large[i].name();
    terms.push_back(
        fmt::format("value{}{} {} {}", name.empty() ? "" : ".", name, large[i].sign(), value));
  }
  const std::string text = fmt::format("{}", fmt::join(terms, " and "));
  return {Condition::Kind::kHolds, 0.0, {}, {}, Formula(text, where)};
}

class Linker {
 public:
  Linker(const Ruleset& ruleset, RuleFile& file) : ruleset_(ruleset), file_(file) {}

  void link() {
    name_slots();
    for (Rule& rule : file_.rules) link(rule);
    for (Formula& formula : file_.at_end) bind(formula, where() + ", at_end");
  }

 private:
  void link(Rule& rule) {
    for (Check& check : rule.checks) link(rule, check);
    for (Check& check : rule.first_checks) link(rule, check);
    for (Assignment& set : rule.sets) bind(set.formula, where(rule));
    if (rule.once) link(rule, *rule.once);
    if (rule.occurs.kind == Occurrence::Kind::kAtLeastOneOf) {
      for (const std::string& key : rule.occurs.keys) {
        rule.occurs.other_rules.push_back(index_of(key, rule));
      }
    }
    const bool is_fixed = rule.then && rule.then->file.find("{}") == std::string::npos;
    if (is_fixed && ruleset_.find(rule.then->file) == nullptr) {
      throw ConfigError(where(rule) + ": goes on with " + rule.then->file +
                        ", which is no file of this round");
    }
  }

  void link(const Rule& rule, Check& check) {
    using enum Check::Kind;
    if (check.kind == kAfter || check.kind == kBefore || check.kind == kMinutesSince) {
      check.other_rule = index_of(check.names[0], rule);
      if (check.names[0] == rule.key) {
        throw ConfigError(where(rule) + ": its order is relative to itself");
      }
    }
    if (check.below_minutes_in_open) {
      check.division_rule = index_of(keys::kSubmissionDivision, rule);
    }
    link(rule, check.predicate);
  }

  void link(const Rule& rule, Predicate& predicate) {
    fill_target(rule, predicate);
    for (Condition& condition : predicate) {
      if (condition.kind == Condition::Kind::kBenchmarkOfRound) {
        condition.texts = ruleset_.round.listed_in(file_.division());
      }
      if (condition.formula) bind(*condition.formula, where(rule));
    }
  }

  void fill_target(const Rule& rule, Predicate& predicate) {
    const auto target = std::ranges::find_if(
        predicate, [](const Condition& one) { return one.kind == Condition::Kind::kTarget; });
    if (target == predicate.end()) return;
    const std::string division = file_.division();
    const std::string name = division.empty() ? file_.name : file_.name.substr(division.size() + 1);
    const Benchmark* const benchmark = find_benchmark(name);
    if (benchmark == nullptr || benchmark->usage != ruleset_.round.usage) {
      throw ConfigError(where(rule) + ": asks for the target of " + name +
                        ", which is no known benchmark of " + ruleset_.round.usage);
    }
    *target = target_of(*benchmark, ruleset_.round.number, where(rule));
    // In the order in which conditions are read: from kAbove to kAtMost.
    std::ranges::stable_sort(predicate, {}, &Condition::kind);
  }

  /// Assigns slots to all names that rules set; keys get slots when a formula refers to them.
  void name_slots() {
    for (const Assignment& set : file_.begins_with) {
      if (!set.formula.names().empty()) {
        throw ConfigError(where() + ": begins with " + set.text() + ", which is no constant");
      }
      file_.names[slot_of_set(set.name, where())] = set.formula.compute({});
    }
    for (Rule& rule : file_.rules) {
      for (Assignment& set : rule.sets) set.slot = slot_of_set(set.name, where(rule));
    }
  }

  std::size_t slot_of_set(const std::string& name, const std::string& where) {
    if (file_.find(name) != nullptr) {
      throw ConfigError(where + ": sets " + name + ", which is a key of this file");
    }
    return slot_of(name);
  }

  std::size_t slot_of(const std::string& name) {
    const auto [found, is_new] = slots_.try_emplace(name, file_.names.size());
    if (is_new) file_.names.emplace_back();
    return found->second;
  }

  void bind(Formula& formula, const std::string& where) {
    std::vector<std::size_t> slots;
    for (const std::string& name : formula.names()) {
      if (!slots_.contains(name)) {
        file_.rules[index_of(name, where)].slot = file_.names.size();
      }
      slots.push_back(slot_of(name));
    }
    formula.bind(std::move(slots));
  }

  std::string where() const { return ruleset_.name + ", file " + file_.name; }
  std::string where(const Rule& rule) const { return where() + ", rule " + rule.key; }

  std::size_t index_of(const std::string& key, const Rule& rule) const {
    return index_of(key, where(rule));
  }

  std::size_t index_of(const std::string& key, const std::string& where) const {
    const Rule* const found = file_.find(key);
    if (found == nullptr) {
      throw ConfigError(where + ": refers to " + key + ", which has no rule in this file");
    }
    return static_cast<std::size_t>(found - file_.rules.data());
  }

  const Ruleset& ruleset_;
  RuleFile& file_;
  std::map<std::string, std::size_t> slots_;
};

/// Whether `then` could choose the file `file` for some value.
bool could_choose(const Then& then, const std::string& file) {
  const std::size_t hole = then.file.find("{}");
  if (hole == std::string::npos) return file == then.file;
  return file.size() >= then.file.size() - 2 && file.starts_with(then.file.substr(0, hole)) &&
         file.ends_with(then.file.substr(hole + 2));
}

std::vector<std::size_t> choices_of(const Then& then, const Ruleset& ruleset) {
  std::vector<std::size_t> files;
  for (std::size_t file = 0; file < ruleset.files.size(); ++file) {
    if (could_choose(then, ruleset.files[file].name)) files.push_back(file);
  }
  return files;
}

}  // namespace

void link(Ruleset& ruleset) {
  for (RuleFile& file : ruleset.files) Linker(ruleset, file).link();
  for (std::size_t file = 0; file < ruleset.files.size(); ++file) {
    std::vector<Rule>& rules = ruleset.files[file].rules;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      ruleset.by_key[rules[i].key].push_back({file, i});
      if (const auto& gathered = rules[i].gathered) {
        ruleset.by_gathered_key[gathered->from].push_back({file, i});
      }
      if (rules[i].then) rules[i].then->could_choose = choices_of(*rules[i].then, ruleset);
    }
  }
}

}  // namespace mllog::rules
