// Judges a log by the rules of a round, record by record.
// Hides which rule files may still apply, and how their findings become a verdict.
#include "runner/mllog/rules/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "runner/mllog/record_reader.h"
#include "runner/mllog/rules/rule_state.h"
#include "runner/mllog/rules/verdict.h"

namespace mllog::rules {
namespace {

/// Whether `then` could choose the file of that name for some value.
bool could_choose(const Then& then, const std::string& file) {
  const std::size_t hole = then.file.find("{}");
  if (hole == std::string::npos) return file == then.file;
  return file.size() >= then.file.size() - 2 && file.starts_with(then.file.substr(0, hole)) &&
         file.ends_with(then.file.substr(hole + 2));
}

}  // namespace

class Judge::State {
 public:
  State(const Ruleset& rules, Warnings warnings) : rules_(rules), warnings_(warnings) {
    for (const RuleFile& file : rules.files) {
      for (std::size_t i = 0; i < file.rules.size(); ++i) {
        slots_[file.rules[i].key].push_back({files_.size(), i});
        const auto& gathered = file.rules[i].gathered;
        if (gathered) gathered_[gathered->from].push_back({files_.size(), i});
      }
      files_.push_back({&file, std::vector<RuleState>(file.rules.size()), true, file.names});
    }
  }

  void add(const Record& record) {
    if (!is_of_round(record)) return;
    if (!record.fault.empty()) return tell(record.line, record.column, std::string(record.fault));
    ++records_;
    const bool is_strict = record.format == LogFormat::kMllog;
    if (record.value.is_absent()) {
      if (is_strict) tell(record.line, record.column, "has no value");
      return;
    }
    if (record.metadata.is_absent() && is_strict) {
      tell(record.line, record.column, "has no metadata");
    }
    if (!gathered_.empty()) gather(record);
    const auto found = slots_.find(record.key);
    if (found == slots_.end()) return;
    bool chosen = false;
    for (const auto& [file, rule] : found->second) {
      if (!files_[file].could_apply) continue;
      apply(rules_, files_[file], rule, record, records_);
      const Rule& applied = rules_.files[file].rules[rule];
      chosen = chosen ||
               (applied.then && applied.is_checked_once() && files_[file].rules[rule].count == 1);
    }
    if (chosen) drop_unreachable();
  }

  void add(const MalformedRecord& record) {
    if (is_of_round(record)) tell(record.line, record.column, record.reason);
  }

  Judgement judgement() const {
    return verdict(
        {rules_, files_, log_, records_, other_format_, warnings_ == Warnings::kAreErrors});
  }

 private:
  /// MLCommons' parser of 0.6 stumbles over the token of later rounds, which begins as its own;
  /// all else of another format is nothing to it.
  template <class Item>
  bool is_of_round(const Item& item) {
    const LogFormat expected = rules_.round.log_format;
    if (item.format == expected) return true;
    ++other_format_;
    if (expected == LogFormat::kMll && item.format == LogFormat::kMllog) {
      tell(item.line, item.column, "must begin with ':::MLL ', got ':::MLLOG '");
    }
    return false;
  }

  void gather(const Record& record) {
    const auto found = gathered_.find(record.key);
    if (found == gathered_.end()) return;
    for (const auto& [file, rule] : found->second) {
      if (files_[file].could_apply) rules::gather(files_[file], rule, record);
    }
  }

  void tell(std::int64_t line, std::int64_t column, const std::string& reason) {
    log_.add(
        {{{Finding::Severity::kError, line, column, "not a record: " + reason, "log/record"}, ""},
         "",
         true});
  }

  /// Submission keys choose once and for all: what cannot be chosen any more need not be judged.
  void drop_unreachable() {
    std::set<std::size_t> reachable;
    std::vector<std::size_t> open = {0};
    while (!open.empty()) {
      const std::size_t file = open.back();
      open.pop_back();
      if (!reachable.insert(file).second) continue;
      for (std::size_t i = 0; i < files_[file].rules.size(); ++i) add_choices(file, i, open);
    }
    for (std::size_t file = 0; file < files_.size(); ++file) {
      if (reachable.contains(file)) continue;
      files_[file].could_apply = false;
      files_[file].rules.assign(files_[file].rules.size(), {});
    }
  }

  void add_choices(std::size_t file, std::size_t rule, std::vector<std::size_t>& open) const {
    const Rule& one = rules_.files[file].rules[rule];
    if (!one.then) return;
    const RuleState& state = files_[file].rules[rule];
    if (one.is_checked_once() && state.count > 0) {
      for (const auto& follower : state.followers) open.push_back(follower.file);
      return;
    }
    for (std::size_t other = 0; other < files_.size(); ++other) {
      if (could_choose(*one.then, rules_.files[other].name)) open.push_back(other);
    }
  }

  struct Slot {
    std::size_t file, rule;
  };
  const Ruleset& rules_;
  Warnings warnings_;
  std::vector<FileState> files_;
  std::unordered_map<std::string_view, std::vector<Slot>> slots_;
  std::unordered_map<std::string_view, std::vector<Slot>> gathered_;  ///< by the key gathered from
  Violations log_;
  std::int64_t records_ = 0, other_format_ = 0;
};

Judge::Judge(const Ruleset& rules, Warnings warnings)
    : state_(std::make_unique<State>(rules, warnings)) {}
Judge::~Judge() = default;
Judge::Judge(Judge&&) noexcept = default;

void Judge::add(const Record& record) { state_->add(record); }
void Judge::add(const MalformedRecord& record) { state_->add(record); }
Judgement Judge::judgement() const { return state_->judgement(); }

}  // namespace mllog::rules
