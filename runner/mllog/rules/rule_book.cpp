// The rules of all rounds, and how those of one are picked from them.
// Hides files, editions and references between rules.
#include "runner/mllog/rules/rule_book.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/object_reader.h"
#include "runner/base/strict_json.h"
#include "runner/mllog/keys.h"
#include "runner/mllog/rules/embedded_rules.h"

namespace mllog::rules {
namespace {

namespace fs = std::filesystem;
using base::ConfigError;

RuleDocument read_embedded(const base::EmbeddedFile& file) {
  const std::string name = "rules/" + std::string(file.name);
  return read_rules(base::parse_strict_json(file.text, name, base::JsonComments::kAllowed), name);
}

/// A file, or the *.json of a folder in the order of their names.
std::vector<std::string> files_of(const std::string& path) {
  std::error_code failed;
  if (!fs::is_directory(path, failed)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(path, failed)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  }
  if (failed) throw ConfigError(path + ": " + failed.message());
  if (files.empty()) throw ConfigError(path + ": expected *.json with rules, found none");
  std::sort(files.begin(), files.end());
  return files;
}

/// Whether the names of a file's rules say that it is the closed division's.
bool is_closed(const RuleFile& file) { return file.name.starts_with("closed"); }
bool is_open(const RuleFile& file) { return file.name.starts_with("open"); }

/// The benchmarks that the round lists in the division of a file.
std::vector<std::string> listed(const Round& round, const RuleFile& file) {
  std::vector<std::string> names = round.benchmarks;
  if (is_closed(file)) {
    names.insert(names.end(), round.closed_benchmarks.begin(), round.closed_benchmarks.end());
  }
  return names;
}

std::vector<std::string> judged_by_common_rules(const Round& round, const RuleFile& file) {
  std::vector<std::string> names = listed(round, file);
  const auto lacks = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  std::erase_if(names, [&](const std::string& name) {
    return lacks(round.no_rules, name) || (is_open(file) && lacks(round.no_open_rules, name));
  });
  return names;
}

/// Resolves what the rules of one file say of each other, and of the round.
class Linker {
 public:
  Linker(const Ruleset& ruleset, RuleFile& file) : ruleset_(ruleset), file_(file) {}

  void link(Rule& rule) {
    for (Check& check : rule.checks) link(rule, check);
    for (Check& check : rule.first_checks) link(rule, check);
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

 private:
  std::string where(const Rule& rule) const {
    return ruleset_.name + ", file " + file_.name + ", rule " + rule.key;
  }

  std::size_t index_of(const std::string& key, const Rule& rule) const {
    const Rule* const found = file_.find(key);
    if (found == nullptr) {
      throw ConfigError(where(rule) + ": refers to " + key + ", which has no rule in this file");
    }
    return static_cast<std::size_t>(found - file_.rules.data());
  }

  void link(const Rule& rule, Check& check) {
    using enum Check::Kind;
    if (check.kind == kAfter || check.kind == kBefore || check.kind == kMinutesSince) {
      check.other_rule = index_of(check.names[0], rule);
      if (check.names[0] == rule.key) {
        throw ConfigError(where(rule) + ": its order is relative to itself");
      }
    }
    if (check.below_minutes_in_open)
      check.division_rule = index_of(keys::kSubmissionDivision, rule);
    for (Condition& condition : check.predicate) {
      if (condition.kind != Condition::Kind::kBenchmarkOfRound) continue;
      condition.texts = listed(ruleset_.round, file_);
    }
  }

  const Ruleset& ruleset_;
  RuleFile& file_;
};

}  // namespace

RuleBook::RuleBook(const std::vector<std::string>& overlays) {
  for (const base::EmbeddedFile& file : embedded_rules()) documents_.push_back(read_embedded(file));
  for (const std::string& overlay : overlays) {
    for (const std::string& file : files_of(overlay)) {
      documents_.push_back(read_rules(base::load_config(file, {}), file));
    }
    suffix_ += "+" + fs::path(overlay).stem().string();
  }
  gather_rounds();
  check_editions();
}

RuleBook::RuleBook(std::vector<RuleDocument> documents) : documents_(std::move(documents)) {
  gather_rounds();
  check_editions();
}

void RuleBook::gather_rounds() {
  for (const RuleDocument& document : documents_) {
    for (const Round& round : document.rounds) {
      if (find(round.usage, round.number) != nullptr) {
        throw ConfigError(document.name + ": the round " + round.name() + " is already there");
      }
      rounds_.push_back(round);
    }
  }
  std::stable_sort(rounds_.begin(), rounds_.end(),
                   [](const Round& a, const Round& b) { return a.usage > b.usage; });
}

void RuleBook::check_editions() const {
  const auto check = [&](const RuleDocument& document, const Edition& when,
                         const std::string& where) {
    const std::size_t none = rounds_.size();
    const auto at = [&](const std::string& number) {
      return number.empty() ? none : place(document.usage, number, where);
    };
    for (const std::string& number : when.except) at(number);
    const std::size_t since = at(when.since);
    const std::size_t until = at(when.until);
    if (since != none && until != none && since > until) {
      throw ConfigError(where + ": since " + when.since + " is later than until " + when.until);
    }
  };
  for (const RuleDocument& document : documents_) {
    for (const DatedFile& file : document.files) {
      check(document, file.when, file.where);
      for (const DatedRule& rule : file.rules) {
        check(document, rule.when, rule.where);
        for (const auto& one : rule.checks) check(document, one.when, rule.where);
        for (const auto& one : rule.first_checks) check(document, one.when, rule.where);
      }
    }
  }
}

const Round* RuleBook::find(const std::string& usage, const std::string& number) const {
  const auto found = std::find_if(rounds_.begin(), rounds_.end(), [&](const Round& round) {
    return round.usage == usage && round.number == number;
  });
  return found == rounds_.end() ? nullptr : &*found;
}

std::size_t RuleBook::place(const std::string& usage, const std::string& number,
                            const std::string& where) const {
  const Round* const round = find(usage, number);
  if (round == nullptr) throw ConfigError(where + ": there is no round " + usage + "-" + number);
  return static_cast<std::size_t>(round - rounds_.data());
}

bool RuleBook::holds(const Edition& when, const Round& round, const std::string& where) const {
  const std::size_t here = place(round.usage, round.number, where);
  if (!when.since.empty() && here < place(round.usage, when.since, where)) return false;
  if (!when.until.empty() && here > place(round.usage, when.until, where)) return false;
  return std::find(when.except.begin(), when.except.end(), round.number) == when.except.end();
}

Rule RuleBook::pick(const DatedRule& dated, const Round& round, const RuleFile& file) const {
  Rule rule = dated.rule;
  for (const auto& check : dated.checks) {
    if (holds(check.when, round, dated.where)) rule.checks.push_back(check.what);
  }
  for (const auto& check : dated.first_checks) {
    if (holds(check.when, round, dated.where)) rule.first_checks.push_back(check.what);
  }
  if (dated.or_common_rules_alone) {
    rule.then->common_rules_alone = judged_by_common_rules(round, file);
  }
  return rule;
}

/// The rules of one document's file that belong to the round, over those of earlier documents.
void RuleBook::add_rules(const DatedFile& dated, const Round& round, RuleFile& file) const {
  std::set<std::string> here;
  for (const DatedRule& rule : dated.rules) {
    if (!holds(rule.when, round, rule.where)) continue;
    const std::string& key = rule.rule.key;
    if (!here.insert(key).second) {
      throw ConfigError(rule.where + ": a second rule for this key in " + round.name());
    }
    const auto old = std::find_if(file.rules.begin(), file.rules.end(),
                                  [&](const Rule& other) { return other.key == key; });
    if (rule.removed) {
      if (old != file.rules.end()) file.rules.erase(old);
    } else if (old != file.rules.end()) {
      *old = pick(rule, round, file);
    } else {
      file.rules.push_back(pick(rule, round, file));
    }
  }
}

Ruleset RuleBook::ruleset(const Round& round) const {
  Ruleset ruleset{round.ruleset() + suffix_, round, {}};
  const auto named = [&](const std::string& name) {
    return std::find_if(ruleset.files.begin(), ruleset.files.end(),
                        [&](const RuleFile& file) { return file.name == name; });
  };
  for (const RuleDocument& document : documents_) {
    if (document.usage != round.usage) continue;
    for (const DatedFile& dated : document.files) {
      if (!holds(dated.when, round, dated.where)) continue;
      if (named(dated.name) == ruleset.files.end()) ruleset.files.push_back({dated.name, {}});
      add_rules(dated, round, *named(dated.name));
    }
  }
  const auto common = named("common");
  if (common == ruleset.files.end()) {
    throw ConfigError(ruleset.name + ": has no file \"common\", which every log is judged by");
  }
  std::rotate(ruleset.files.begin(), common, common + 1);
  for (RuleFile& file : ruleset.files) {
    for (Rule& rule : file.rules) Linker(ruleset, file).link(rule);
  }
  return ruleset;
}

}  // namespace mllog::rules
