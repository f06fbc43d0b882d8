// What the records so far say of one rule.
// Hides how a check is answered, and how much is kept of what breaks it.
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

/// A finding, and what it does to the verdict.
struct Violation {
  KeyFinding found;
  std::string blamed;  ///< the key among failing_keys; "" for none
  bool stays = false;  ///< not replaced by a later file's rule for the key
};

/// The first thousand violations, and the number of the others.
struct Violations {
  std::vector<Violation> kept;
  std::int64_t more = 0;
  void add(Violation violation);
};

struct RuleState {
  std::int64_t count = 0;  ///< records of the key
  std::int64_t first_line = 0;
  std::string first_value;                ///< JSON
  std::vector<std::string> other_values;  ///< of the first few that differ from it
  std::int64_t different = 0;             ///< records whose value differs from the first
  std::int64_t different_line = 0, different_column = 0;  ///< of the first that does
  double earliest_ms = 9e99;
  std::string last_value;  ///< JSON
  bool met_once = false;
  std::vector<std::int64_t> seen_names;     ///< how often, of Rule::exactly_these
  std::optional<std::string> strange_name;  ///< the first that is none of them, as JSON
  Violations violations;
  std::vector<Finding> notes;

  /// What Rule::gathered makes of the records so far: one for each position, in their order.
  struct Gathering {
    std::int64_t line = 0, column = 0;           ///< of the last record in it
    double time_ms = 0.0;                        ///< the latest
    std::map<std::string, std::string> members;  ///< JSON by quoted name
  };
  std::vector<Gathering> gatherings;
  std::map<std::string, std::size_t> gathering_at;  ///< by position, as JSON

  /// A file that follows, and the record that last asked for it.
  struct Follower {
    std::size_t file;
    std::int64_t record;
  };
  std::vector<Follower> followers;
};

/// A rule file and the states of its rules, in its order.
struct FileState {
  const RuleFile* file = nullptr;
  std::vector<RuleState> rules;  ///< none before begin(): most files of a round concern no log
  bool could_apply = true;
  std::vector<std::optional<FormulaValue>> names;  ///< by slot

  void begin() {
    if (rules.empty()) rules.resize(file->rules.size());
  }
};

/// Applies the rule `which` of a file to a record of its key. `number` counts the log's records.
void apply(const Ruleset& ruleset, FileState& file, std::size_t which, const Record& record,
           std::int64_t number);

/// Takes a record of the key that the rule `which` gathers from.
void gather(FileState& file, std::size_t which, const Record& record);
/// Applies the rule `which` to what it gathered, as if these records stood at the log's end.
void apply_gathered(const Ruleset& ruleset, FileState& file, std::size_t which,
                    std::int64_t number);

/// At most about 60 bytes of a value as logged.
std::string brief(std::string_view json);

}  // namespace mllog::rules
