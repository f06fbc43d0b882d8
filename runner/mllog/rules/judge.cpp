// Judges a log by the rules of a round, record by record.
#include "runner/mllog/rules/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "runner/mllog/record_reader.h"
#include "runner/mllog/rules/rule_state.h"
#include "runner/mllog/rules/verdict.h"

namespace mllog::rules {

class Judge::State {
 public:
  State(const Ruleset& rules, Warnings warnings) : rules_(rules), warnings_(warnings) {
    for (const RuleFile& file : rules.files) files_.push_back({&file, {}, true, file.names});
  }

  void add(const Record& record) {
    if (!is_of_round(record)) return;
    if (!record.fault.empty())
      return add_finding(record.line, record.column, std::string(record.fault));
    ++records_;
    const bool is_strict = record.format == LogFormat::kMllog;
    if (record.value.is_absent()) {
      if (is_strict) add_finding(record.line, record.column, "has no value");
      return;
    }
    if (record.metadata.is_absent() && is_strict) {
      add_finding(record.line, record.column, "has no metadata");
    }
    if (!rules_.by_gathered_key.empty()) gather(record);
    const std::vector<RulePlace>* const places = rules_.by_key.find(record.key);
    if (!places) return;
    bool chosen = false;
    for (const auto& [file, rule] : *places) {
      if (!files_[file].could_apply) continue;
      files_[file].begin();
      apply(rules_, files_[file], rule, record, records_);
      const Rule& applied = rules_.files[file].rules[rule];
      chosen = chosen ||
               (applied.then && applied.is_checked_once() && files_[file].rules[rule].count == 1);
    }
    if (chosen) drop_unreachable();
  }

  void add(const MalformedRecord& record) {
    if (is_of_round(record)) add_finding(record.line, record.column, record.reason);
  }

  Judgement judgement() const {
    return verdict(
        {rules_, files_, log_, records_, other_format_, warnings_ == Warnings::kAreErrors});
  }

 private:
  /// MLCommons' parser of 0.6 fails on the token of later rounds, whose beginning is the same as
  /// its own; it ignores all other formats.
  template <class Item>
  bool is_of_round(const Item& item) {
    const LogFormat expected = rules_.round.log_format;
    if (item.format == expected) return true;
    ++other_format_;
    if (expected == LogFormat::kMll && item.format == LogFormat::kMllog) {
      add_finding(item.line, item.column, "must begin with ':::MLL ', got ':::MLLOG '");
    }
    return false;
  }

  void gather(const Record& record) {
    const std::vector<RulePlace>* const places = rules_.by_gathered_key.find(record.key);
    if (!places) return;
    for (const auto& [file, rule] : *places) {
      if (!files_[file].could_apply) continue;
      files_[file].begin();
      rules::gather(files_[file], rule, record);
    }
  }

  void add_finding(std::int64_t line, std::int64_t column, const std::string& reason) {
    log_.add(
        {{{Finding::Severity::kError, line, column, "not a record: " + reason, "log/record"}, ""},
         "",
         true});
  }

  /// Submission keys decide between files only once, so files that can no longer be chosen are
  /// dropped.
  void drop_unreachable() {
    std::vector<char> is_reachable(files_.size());
    std::vector<std::size_t> open = {0};
    while (!open.empty()) {
      const std::size_t file = open.back();
      open.pop_back();
      if (std::exchange(is_reachable[file], 1)) continue;
      for (std::size_t i = 0; i < rules_.files[file].rules.size(); ++i) add_choices(file, i, open);
    }
    for (std::size_t file = 0; file < files_.size(); ++file) {
      if (is_reachable[file]) continue;
      files_[file].could_apply = false;
      files_[file].rules.clear();
    }
  }

  void add_choices(std::size_t file, std::size_t rule, std::vector<std::size_t>& open) const {
    const Rule& one = rules_.files[file].rules[rule];
    if (!one.then) return;
    const bool has_record = !files_[file].rules.empty() && files_[file].rules[rule].count > 0;
    if (one.is_checked_once() && has_record) {
      for (const auto& follower : files_[file].rules[rule].followers) open.push_back(follower.file);
    } else {
      open.insert(open.end(), one.then->could_choose.begin(), one.then->could_choose.end());
    }
  }

  const Ruleset& rules_;
  Warnings warnings_;
  std::vector<FileState> files_;
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
