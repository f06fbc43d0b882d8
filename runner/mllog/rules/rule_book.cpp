// The rules of all rounds, and the selection of one round's rules.
#include "runner/mllog/rules/rule_book.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/object_reader.h"
#include "runner/base/strict_json.h"
#include "runner/mllog/rules/embedded_rules.h"
#include "runner/mllog/rules/linker.h"

namespace mllog::rules {
namespace {

namespace fs = std::filesystem;
using base::ConfigError;

RuleDocument read_embedded(const base::EmbeddedFile& file, const FileFilter& wanted = {}) {
  const std::string name = "rules/" + std::string(file.name);
  return read_rules(base::parse_strict_json(file.text, name, base::JsonComments::kAllowed), name,
                    wanted);
}

bool holds_rounds(const base::EmbeddedFile& file) { return file.name.ends_with("/rounds.json"); }

/// A file, or the *.json of a folder, sorted by name.
std::vector<std::string> files_of(const std::string& path) {
  std::error_code failed;
  if (!fs::is_directory(path, failed)) return {path};
  std::vector<std::string> files;
  fs::directory_iterator entry(path, failed);
  for (const fs::directory_iterator end; !failed && entry != end; entry.increment(failed)) {
    if (entry->path().extension() == ".json") files.push_back(entry->path().string());
  }
  if (failed) throw ConfigError(path + ": " + failed.message());
  if (files.empty()) throw ConfigError(path + ": expected *.json with rules, found none");
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> judged_by_common_rules(const Round& round, const RuleFile& file) {
  std::vector<std::string> names = round.listed_in(file.division());
  const auto lacks = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  std::erase_if(names, [&](const std::string& name) {
    return lacks(round.no_rules, name) ||
           (file.division() == "open" && lacks(round.no_open_rules, name));
  });
  return names;
}

}  // namespace

RuleBook::RuleBook(const std::vector<std::string>& overlays) : embedded_(embedded_rules()) {
  for (const base::EmbeddedFile& file : embedded_) {
    if (holds_rounds(file)) documents_.push_back(read_embedded(file));
  }
  for (const std::string& overlay : overlays) {
    for (const std::string& file : files_of(overlay)) {
      documents_.push_back(read_rules(base::load_config(file, {}), file));
    }
    suffix_ += "+" + fs::path(overlay).stem().string();
  }
  gather_rounds();
  for (const RuleDocument& document : documents_) check_editions(document);
}

RuleBook::RuleBook(std::vector<RuleDocument> documents) : documents_(std::move(documents)) {
  gather_rounds();
  for (const RuleDocument& document : documents_) check_editions(document);
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

void RuleBook::check_editions(const RuleDocument& document) const {
  const auto check = [&](const Edition& when, const std::string& where) {
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
  for (const DatedFile& file : document.files) {
    check(file.when, file.where);
    for (const DatedRule& rule : file.rules) {
      check(rule.when, rule.where);
      for (const auto& one : rule.checks) check(one.when, rule.where);
      for (const auto& one : rule.first_checks) check(one.when, rule.where);
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

/// Adds the rules of one document's file that apply to the round, overriding those of earlier
/// documents.
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

/// Adds the files of a document that apply to the round, overriding those of earlier documents.
void RuleBook::add_files(const RuleDocument& document, const Round& round, Ruleset& ruleset) const {
  for (const DatedFile& dated : document.files) {
    if (document.usage != round.usage || !holds(dated.when, round, dated.where)) continue;
    auto file = std::ranges::find(ruleset.files, dated.name, &RuleFile::name);
    if (file == ruleset.files.end()) {
      ruleset.files.emplace_back().name = dated.name;
      file = ruleset.files.end() - 1;
    }
    file->begins_with.insert(file->begins_with.end(), dated.begins_with.begin(),
                             dated.begins_with.end());
    file->at_end.insert(file->at_end.end(), dated.at_end.begin(), dated.at_end.end());
    add_rules(dated, round, *file);
  }
}

Ruleset RuleBook::ruleset(const Round& round) const {
  Ruleset ruleset{round.ruleset() + suffix_, round, {}, {}, {}};
  const auto wanted = [&](const DatedFile& file) { return holds(file.when, round, file.where); };
  for (const base::EmbeddedFile& file : embedded_) {
    if (!file.name.starts_with(round.usage + "/") || holds_rounds(file)) continue;
    const RuleDocument document = read_embedded(file, wanted);
    check_editions(document);
    add_files(document, round, ruleset);
  }
  for (const RuleDocument& document : documents_) add_files(document, round, ruleset);
  const auto common = std::ranges::find(ruleset.files, "common", &RuleFile::name);
  if (common == ruleset.files.end()) {
    throw ConfigError(ruleset.name + ": has no file \"common\", which every log is judged by");
  }
  std::rotate(ruleset.files.begin(), common, common + 1);
  link(ruleset);
  return ruleset;
}

const RuleBook& embedded_rule_book() {
  static const RuleBook book(std::vector<std::string>{});
  return book;
}

}  // namespace mllog::rules
