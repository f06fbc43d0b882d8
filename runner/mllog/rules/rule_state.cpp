// Applies rules to records.
#include "runner/mllog/rules/rule_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "runner/mllog/record_reader.h"
#include "runner/mllog/rules/words.h"

namespace mllog::rules {
namespace {

using Severity = Finding::Severity;

constexpr double kMsPerMinute = 60e3;

/// The application of one rule to one record.
class Application {
 public:
  Application(const Ruleset& ruleset, FileState& file, std::size_t which, const Record& record)
      : ruleset_(ruleset),
        file_(file),
        rule_(file.file->rules[which]),
        state_(file.rules[which]),
        record_(record),
        scope_{record.value, record.metadata, record.time_ms, &file.names} {}

  void run(std::int64_t number) {
    note_value();
    const bool first = state_.count == 1;
    if (first || !rule_.is_checked_once()) {
      for (const Check& check : rule_.checks) judge(check);
      if (rule_.exactly_these) note_name(*rule_.exactly_these);
      set_names();
      if (rule_.then) follow(*rule_.then, number);
      state_.earliest_ms = std::min(state_.earliest_ms, record_.time_ms);
    }
    if (first) {
      for (const Check& check : rule_.first_checks) judge(check);
    }
    if (rule_.once) judge_once(*rule_.once);
  }

 private:
  void note_value() {
    constexpr std::size_t kShownValues = 4;
    ++state_.count;
    if (rule_.once) state_.last_value = record_.value.text();
    if (state_.count == 1) {
      state_.first_value = record_.value.text();
      state_.first_line = record_.line;
    } else if (rule_.occurs.kind == Occurrence::Kind::kExactlyOne &&
               !python_equal(JsonText(state_.first_value), record_.value)) {
      if (state_.different++ == 0) {
        state_.different_line = record_.line;
        state_.different_column = record_.column;
      }
      const std::string shown = brief(record_.value.text());
      auto& others = state_.other_values;
      const bool known = std::find(others.begin(), others.end(), shown) != others.end();
      if (!known && others.size() < kShownValues) others.push_back(shown);
    }
  }

  /// If one value cannot be computed, the following names are not set.
  void set_names() {
    if (rule_.slot) file_.names[*rule_.slot] = FormulaValue::of(record_.value);
    for (const Assignment& set : rule_.sets) {
      std::optional<FormulaValue> value = set.formula.compute(scope_);
      if (!value) {
        return add_finding("sets", fmt::format("cannot be computed: {}, got {}", set.text(),
                                               brief(record_.value.text())));
      }
      file_.names[set.slot] = std::move(value);
    }
  }

  void add_finding(const char* aspect, const std::string& text, bool stays = false) {
    Finding finding{Severity::kError, record_.line, record_.column, rule_.key + ": " + text,
                    fmt::format("{}/{}/{}", file_.file->name, rule_.key, aspect)};
    state_.violations.add({{std::move(finding), rule_.key}, rule_.key, stays});
  }

  void judge(const Check& check) {
    const Answer answer = holds(check);
    if (answer && *answer) return;
    add_finding(aspect_of(check),
                (answer ? "" : "cannot be checked: ") + words(check) + found(check));
  }

  static const char* aspect_of(const Check& check) {
    switch (check.kind) {
      case Check::Kind::kValue:
        return "value";
      case Check::Kind::kMember:
      case Check::Kind::kHasAny:
        return "metadata";
      case Check::Kind::kMinutesSince:
        return "time";
      default:
        return "order";
    }
  }

  std::string found(const Check& check) const {
    switch (check.kind) {
      case Check::Kind::kValue:
        return ", got " + brief(record_.value.text());
      case Check::Kind::kMember: {
        const JsonText member = record_.metadata.member(check.names[0]);
        return member.is_absent() ? ", but there is none" : ", got " + brief(member.text());
      }
      case Check::Kind::kHasAny:
        return record_.metadata.is_object() ? ", but has not"
                                            : ", got " + brief(record_.metadata.text());
      case Check::Kind::kAfter:
        return ", but none stands before it";
      case Check::Kind::kBefore:
        return fmt::format(", but one is in line {}", other(check).first_line);
      default:
        return fmt::format(", got {:.3f}",
                           (record_.time_ms - other(check).earliest_ms) / kMsPerMinute);
    }
  }

  const RuleState& other(const Check& check) const { return file_.rules[check.other_rule]; }

  Answer holds(const Check& check) const {
    if (!check.where_has.empty()) {
      const Answer has = python_contains(record_.metadata, check.where_has);
      if (!has) return {};
      if (!*has) return true;
    }
    switch (check.kind) {
      case Check::Kind::kValue:
        return rules::holds(check.predicate, record_.value, scope_);
      case Check::Kind::kMember: {
        const JsonText member = record_.metadata.member(check.names[0]);
        return member.is_absent() ? Answer() : rules::holds(check.predicate, member, scope_);
      }
      case Check::Kind::kHasAny:
        return has_any(check);
      case Check::Kind::kAfter:
        return other(check).count > 0;
      case Check::Kind::kBefore:
        return other(check).count == 0;
      default:
        return record_.time_ms - other(check).earliest_ms < limit_minutes(check) * kMsPerMinute;
    }
  }

  Answer has_any(const Check& check) const {
    bool any = false;
    for (const std::string& name : check.names) {
      const Answer has = python_contains(record_.metadata, name);
      if (!has) return {};
      any = any || *has;
    }
    return any;
  }

  double limit_minutes(const Check& check) const {
    if (!check.below_minutes_in_open) return check.below_minutes;
    const RuleState& division = file_.rules[check.division_rule];
    if (division.count == 0) return 0.0;
    const bool open = python_equals(JsonText(division.first_value), "open");
    return open ? *check.below_minutes_in_open : check.below_minutes;
  }

  void judge_once(const Predicate& predicate) {
    const Answer answer = rules::holds(predicate, record_.value, scope_);
    if (answer) {
      state_.met_once = state_.met_once || *answer;
    } else {
      add_finding("once",
                  fmt::format("cannot be checked: at least one must be {}, got {}",
                              words(predicate), brief(record_.value.text())),
                  true);
    }
  }

  void note_name(const ExactlyThese& these) {
    state_.seen_names.resize(these.names.size());
    const JsonText member = record_.metadata.member(these.member);
    if (member.is_absent()) {
      if (record_.metadata.is_object()) return;  // a check reports this
      return add_finding("names", fmt::format("metadata must be an object with {}, got {}",
                                              these.member, brief(record_.metadata.text())));
    }
    const std::optional<std::string> name = member.string();
    const auto at =
        name ? std::lower_bound(these.names.begin(), these.names.end(), *name) : these.names.end();
    if (at != these.names.end() && *at == *name) {
      ++state_.seen_names[static_cast<std::size_t>(at - these.names.begin())];
    } else if (!state_.strange_name) {
      state_.strange_name = brief(member.text());
    }
  }

  void follow(const Then& then, std::int64_t number) {
    if (!then.where.empty()) {
      if (python_equals(record_.value, std::string_view(then.where))) go_to(then.file, number);
      return;
    }
    std::optional<std::string> value = record_.value.string();
    if (!value && then.lower_case) {
      add_finding("then",
                  "cannot choose rules: must be a text, got " + brief(record_.value.text()));
      return;
    }
    if (value && then.lower_case) {
      std::transform(value->begin(), value->end(), value->begin(),
                     [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    }
    std::string name = then.file;
    if (value) name.replace(name.find("{}"), 2, *value);
    if (!value || !go_to(name, number)) lacks_rules(then, value.value_or(""));
  }

  bool go_to(const std::string& name, std::int64_t number) {
    const RuleFile* const file = ruleset_.find(name);
    if (file == nullptr) return false;
    const auto which = static_cast<std::size_t>(file - ruleset_.files.data());
    std::erase_if(state_.followers, [&](const auto& one) { return one.file == which; });
    state_.followers.push_back({which, number});
    return true;
  }

  void lacks_rules(const Then& then, const std::string& value) {
    const std::string shown = brief(record_.value.text());
    if (std::find(then.common_rules_alone.begin(), then.common_rules_alone.end(), value) !=
        then.common_rules_alone.end()) {
      state_.notes.push_back(
          {Severity::kNote, record_.line, record_.column,
           fmt::format(
               "{}: {} has no rules of its own here: only those common to all benchmarks of "
               "{} were applied",
               rule_.key, shown, ruleset_.name),
           fmt::format("{}/{}/then", file_.file->name, rule_.key)});
      return;
    }
    add_finding("then", fmt::format("{} has no rules for {}", ruleset_.name, shown), true);
  }

  const Ruleset& ruleset_;
  FileState& file_;
  const Rule& rule_;
  RuleState& state_;
  const Record& record_;
  FormulaScope scope_;
};

}  // namespace

void Violations::add(Violation violation) {
  constexpr std::size_t kMostKept = 1000;
  if (kept.size() < kMostKept) {
    kept.push_back(std::move(violation));
  } else {
    ++more;
  }
}

void apply(const Ruleset& ruleset, FileState& file, std::size_t which, const Record& record,
           std::int64_t number) {
  Application(ruleset, file, which, record).run(number);
}

void gather(FileState& file, std::size_t which, const Record& record) {
  const Rule& rule = file.file->rules[which];
  const Gathered& gathered = *rule.gathered;
  RuleState& state = file.rules[which];
  const auto refuse = [&](const std::string& text) {
    Finding finding{Severity::kError, record.line, record.column, rule.key + ": " + text,
                    fmt::format("{}/{}/gathered", file.file->name, rule.key)};
    state.violations.add({{std::move(finding), rule.key}, rule.key, true});
  };
  const Answer has_part = python_contains(record.metadata, gathered.part);
  if (!has_part) return refuse("metadata must be an object, got " + brief(record.metadata.text()));
  if (!*has_part) return;
  const JsonText position = record.metadata.member(gathered.position);
  const JsonText part = record.metadata.member(gathered.part);
  const auto names = [](const JsonText& value) {
    return !value.is_absent() && !value.is_object() && !value.text().starts_with('[');
  };
  if (!names(position) || !names(part)) {
    return refuse(fmt::format("metadata must have {} and {}, got {}", gathered.position,
                              gathered.part, brief(record.metadata.text())));
  }
  const std::optional<double> number = python_number(position);
  const auto [found, is_new] = state.gathering_at.try_emplace(
      number ? fmt::format("{}", *number) : std::string(position.text()), state.gatherings.size());
  if (is_new) {
    state.gatherings.emplace_back();
    state.gatherings.back().members[fmt::format("\"{}\"", gathered.position)] = position.text();
  }
  RuleState::Gathering& gathering = state.gatherings[found->second];
  gathering.line = record.line;
  gathering.column = record.column;
  gathering.time_ms = std::max(gathering.time_ms, record.time_ms);
  const std::string name =
      part.is_string() ? std::string(part.text()) : fmt::format("\"{}\"", part.text());
  gathering.members[name] = record.value.text();
}

void apply_gathered(const Ruleset& ruleset, FileState& file, std::size_t which,
                    std::int64_t number) {
  for (const RuleState::Gathering& gathering : file.rules[which].gatherings) {
    std::string value;
    for (const auto& [name, text] : gathering.members) {
      value += fmt::format("{}{}: {}", value.empty() ? "{" : ", ", name, text);
    }
    value += "}";
    Record record;
    record.line = gathering.line;
    record.column = gathering.column;
    record.time_ms = gathering.time_ms;
    record.key = file.file->rules[which].key;
    record.value = JsonText(value);
    record.metadata = JsonText("{}");
    apply(ruleset, file, which, record, ++number);
  }
}

std::string brief(std::string_view json) {
  constexpr std::size_t kMostBytes = 60;
  if (json.empty()) return "nothing";
  if (json.size() <= kMostBytes) return std::string(json);
  return std::string(json.substr(0, kMostBytes - 4)) + " ...";
}

}  // namespace mllog::rules
