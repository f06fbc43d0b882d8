// The verdict on a log from the states of its rules.
#include "runner/mllog/rules/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "runner/mllog/rules/words.h"

namespace mllog::rules {
namespace {

using Severity = Finding::Severity;

/// The files that apply, ordered by their last processing: MLCommons' checker takes files from a
/// queue, some of them several times.
std::vector<std::size_t> chain(const std::vector<FileState>& files) {
  std::deque<std::size_t> queue = {0};
  std::vector<std::size_t> turns;
  std::set<std::size_t> expanded;
  while (!queue.empty()) {
    const std::size_t file = queue.front();
    queue.pop_front();
    turns.push_back(file);
    if (!expanded.insert(file).second) continue;
    std::vector<RuleState::Follower> followers;
    for (const RuleState& rule : files[file].rules) {
      followers.insert(followers.end(), rule.followers.begin(), rule.followers.end());
    }
    std::stable_sort(followers.begin(), followers.end(),
                     [](const auto& a, const auto& b) { return a.record < b.record; });
    for (const auto& follower : followers) queue.push_back(follower.file);
  }
  std::vector<std::size_t> last;
  for (auto turn = turns.rbegin(); turn != turns.rend(); ++turn) {
    if (std::find(last.begin(), last.end(), *turn) == last.end()) last.push_back(*turn);
  }
  std::reverse(last.begin(), last.end());
  return last;
}

class Verdict {
 public:
  explicit Verdict(const Case& known) : case_(known) {}

  Judgement give() && {
    Judgement judgement;
    judgement.ruleset = case_.ruleset.name;
    add_log();
    for (const std::size_t file : chain(case_.files)) {
      const FileState& state = case_.files[file];
      judgement.files.push_back(state.file->name);
      if (state.rules.empty() || std::ranges::any_of(state.file->rules, &Rule::gathers)) {
        add_file(with_gathered(state));
      } else {
        add_file(state);
      }
    }
    std::set<std::string> failing;
    judgement.passes = true;
    const auto take = [&](const Violation& violation) {
      if (violation.found.finding.severity == Severity::kError) {
        judgement.passes = false;
        if (!violation.blamed.empty()) failing.insert(violation.blamed);
      }
      judgement.findings.push_back(violation.found);
    };
    for (const auto& [key, violations] : of_key_)
      std::for_each(violations.begin(), violations.end(), take);
    std::for_each(stays_.begin(), stays_.end(), take);
    std::stable_sort(judgement.findings.begin(), judgement.findings.end(), stands_before);
    judgement.failing_keys.assign(failing.begin(), failing.end());
    return judgement;
  }

 private:
  static bool stands_before(const KeyFinding& a, const KeyFinding& b) {
    const auto place = [](const KeyFinding& one) {
      return std::tuple(one.finding.line == 0, one.finding.line, one.finding.column);
    };
    return place(a) < place(b);
  }

  void add_log() {
    if (case_.records == 0) {
      std::string text = "the log holds no record";
      if (case_.other_format_records > 0) {
        text += fmt::format(" that begins with '{}', as those of {} do, but {} of other rounds",
                            token_of(case_.ruleset.round.log_format), case_.ruleset.round.name(),
                            case_.other_format_records);
      }
      stays_.push_back({{{Severity::kError, 0, 0, text, "log/records"}, ""}, "", true});
    }
    take_all(case_.log, "log/record", "");
  }

  FileState with_gathered(FileState file) const {
    file.begin();
    for (std::size_t i = 0; i < file.rules.size(); ++i) {
      if (file.file->rules[i].gathered) apply_gathered(case_.ruleset, file, i, case_.records);
    }
    return file;
  }

  void add_file(const FileState& file) {
    for (const Rule& rule : file.file->rules) of_key_.erase(rule.key);
    for (std::size_t i = 0; i < file.rules.size(); ++i) {
      file_ = &file;
      rule_ = &file.file->rules[i];
      state_ = &file.rules[i];
      add_rule();
    }
    add_alternatives(file);
    add_end(file);
  }

  void add_end(const FileState& file) {
    for (const Formula& formula : file.file->at_end) {
      const Answer answer = formula.holds({{}, {}, 0.0, &file.names});
      if (answer && *answer) continue;
      stays_.push_back({{{Severity::kError, 0, 0,
                          fmt::format("when the log ends, this must hold, but does not{}: {}",
                                      answer ? "" : " or cannot be computed", formula.text()),
                          fmt::format("{}/at_end", file.file->name)},
                         ""},
                        "",
                        true});
    }
  }

  void add_rule() {
    if (!state_->violations.kept.empty()) take_all(state_->violations, id("more"), rule_->key);
    for (const Finding& note : state_->notes)
      of_key_[rule_->key].push_back({{note, rule_->key}, "", false});
    add_count();
    if (rule_->once && state_->count > 0 && !state_->met_once) {
      add_finding(Severity::kError, "once", 0, 0,
                  fmt::format("at least one must be {}, but none of {} is, the last is {}",
                              words(*rule_->once), state_->count, brief(state_->last_value)),
                  true);
    }
    if (rule_->exactly_these) add_names(*rule_->exactly_these);
  }

  std::string id(const char* aspect) const {
    return fmt::format("{}/{}/{}", file_->file->name, rule_->key, aspect);
  }

  void add_finding(Severity severity, const char* aspect, std::int64_t line, std::int64_t column,
                   const std::string& text, bool stays = false) {
    Violation violation{
        {{severity, line, column, rule_->key + ": " + text, id(aspect)}, rule_->key},
        rule_->key,
        stays};
    (stays ? stays_ : of_key_[rule_->key]).push_back(std::move(violation));
  }

  void take_all(const Violations& violations, const std::string& rule, const std::string& key) {
    for (const Violation& violation : violations.kept) {
      (violation.stays ? stays_ : of_key_[key]).push_back(violation);
    }
    if (violations.more == 0) return;
    of_key_[key].push_back(
        {{{Severity::kError, 0, 0,
           fmt::format("{}{} more like these", key.empty() ? "" : key + ": ", violations.more),
           rule},
          key},
         key,
         false});
  }

  void add_count() {
    const Occurrence& occurs = rule_->occurs;
    const std::int64_t count = state_->count;
    if (occurs.kind == Occurrence::Kind::kAtLeast && count < occurs.times) {
      add_finding(Severity::kError, "count", 0, 0,
                  fmt::format("must have {}, found {}", words(occurs), count));
    }
    if (occurs.kind != Occurrence::Kind::kExactlyOne || count == 1) return;
    if (count == 0) {
      add_finding(Severity::kError, "count", 0, 0, "must have exactly one record, found none");
    } else if (state_->different > 0) {
      add_finding(
          Severity::kError, "count", state_->different_line, state_->different_column,
          fmt::format("must have exactly one record, found {} with different values: {}, {}", count,
                      brief(state_->first_value), fmt::join(state_->other_values, ", ")));
    } else {
      add_finding(case_.warnings_are_errors ? Severity::kError : Severity::kWarning, "count", 0, 0,
                  fmt::format("must have exactly one record, found {}, all with the value {}",
                              count, brief(state_->first_value)));
    }
  }

  void add_names(const ExactlyThese& these) {
    std::vector<std::string> faults;
    std::int64_t others = 0;
    for (std::size_t i = 0; i < these.names.size(); ++i) {
      const std::int64_t seen = i < state_->seen_names.size() ? state_->seen_names[i] : 0;
      if (seen == 1) continue;
      if (faults.empty()) {
        faults.push_back(fmt::format("{} is named {} times", these.names[i], seen));
      } else {
        ++others;
      }
    }
    if (others > 0) faults.push_back(fmt::format("{} more are not named once", others));
    if (state_->strange_name) {
      faults.push_back(fmt::format("{} is none of them", *state_->strange_name));
    }
    if (faults.empty()) return;
    add_finding(Severity::kError, "names", 0, 0,
                fmt::format("metadata.{} must name each of {} tensors once, but {}", these.member,
                            these.names.size(), fmt::join(faults, ", ")),
                true);
    stays_.back().blamed.clear();
  }

  void add_alternatives(const FileState& file) {
    std::set<std::vector<std::string>> told;
    for (const Rule& rule : file.file->rules) {
      if (rule.occurs.kind != Occurrence::Kind::kAtLeastOneOf) continue;
      const auto& others = rule.occurs.other_rules;
      const bool any = std::any_of(others.begin(), others.end(),
                                   [&](std::size_t i) { return file.rules[i].count > 0; });
      if (any || !told.insert(rule.occurs.keys).second) continue;
      const std::string& key = rule.occurs.keys[0];
      stays_.push_back(
          {{{Severity::kError, 0, 0, fmt::format("must have {}, found none", words(rule.occurs)),
             fmt::format("{}/{}/count", file.file->name, key)},
            key},
           key,
           true});
    }
  }

  const Case& case_;
  const FileState* file_ = nullptr;
  const Rule* rule_ = nullptr;
  const RuleState* state_ = nullptr;
  std::map<std::string, std::vector<Violation>> of_key_;
  std::vector<Violation> stays_;
};

}  // namespace

Judgement verdict(const Case& known) { return Verdict(known).give(); }

}  // namespace mllog::rules
