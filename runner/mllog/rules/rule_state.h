// The state of one rule after the records so far.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runner/mllog/rules/judgement.h"
#include "runner/mllog/rules/ruleset.h"

namespace mllog {
struct Record;
}  // namespace mllog

namespace mllog::rules {

/// A finding and its effect on the verdict.
struct Violation {
  KeyFinding found;
  std::string blamed;  ///< the key to list in failing_keys; "" for none
  bool stays = false;  ///< not replaced by a later file's rule for the key
};

/// The first thousand violations, and the number of further ones.
struct Violations {
  std::vector<Violation> kept;
  std::int64_t more = 0;
  void add(Violation violation);
};

struct RuleState {
  std::int64_t count = 0;  ///< records with the key
  std::int64_t first_line = 0;
  std::string first_value;                ///< JSON
  std::vector<std::string> other_values;  ///< the first few that differ from first_value
  std::int64_t different = 0;             ///< number of records whose value differs from the first
  std::int64_t different_line = 0, different_column = 0;  ///< position of the first of them
  double earliest_ms = 9e99;
  std::string last_value;  ///< JSON
  bool met_once = false;
  std::vector<std::int64_t> seen_names;     ///< occurrences of each of Rule::exactly_these
  std::optional<std::string> strange_name;  ///< the first other name, as JSON
  Violations violations;
  std::vector<Finding> notes;

  /// The records that Rule::gathered makes so far: one per position, in order.
  struct Gathering {
    std::int64_t line = 0, column = 0;           ///< of the last record added to it
    double time_ms = 0.0;                        ///< the latest
    std::map<std::string, std::string> members;  ///< JSON by quoted name
  };
  std::vector<Gathering> gatherings;
  std::map<std::string, std::size_t> gathering_at;  ///< index by position, as JSON

  /// A file that follows, and the number of the last record that selected it.
  struct Follower {
    std::size_t file;
    std::int64_t record;
  };
  std::vector<Follower> followers;
};

/// A rule file and the states of its rules, in the same order.
struct FileState {
  const RuleFile* file = nullptr;
  std::vector<RuleState> rules;  ///< empty before begin(), as most files of a round never apply to
                                 ///< a log
  bool could_apply = true;
  std::vector<std::optional<FormulaValue>> names;  ///< by slot

  void begin() {
    if (rules.empty()) rules.resize(file->rules.size());
  }
};

/// Applies rule `which` of a file to a record with its key. `number` is the record's index in the
/// log.
void apply(const Ruleset& ruleset, FileState& file, std::size_t which, const Record& record,
           std::int64_t number);

/// Adds a record to what rule `which` gathers.
void gather(FileState& file, std::size_t which, const Record& record);
/// Applies rule `which` to its gathered records, as if they followed the end of the log.
void apply_gathered(const Ruleset& ruleset, FileState& file, std::size_t which,
                    std::int64_t number);

/// A value as logged, shortened to about 60 bytes.
std::string brief(std::string_view json);

}  // namespace mllog::rules
