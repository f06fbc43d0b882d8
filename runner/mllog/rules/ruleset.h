// The rules of one round, as the judge applies them.
// Hides nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/mllog/key_table.h"
#include "runner/mllog/log_format.h"
#include "runner/mllog/rules/formula.h"
#include "runner/mllog/rules/predicate.h"

namespace mllog::rules {

/// What every record of a key must satisfy.
struct Check {
  enum class Kind {
    kValue,        ///< the value: `predicate`
    kMember,       ///< the member `names[0]` of its metadata: `predicate`
    kHasAny,       ///< its metadata has one of the members `names`
    kAfter,        ///< a record of `names[0]` stands before it in the file
    kBefore,       ///< no record of `names[0]` stands before it in the file
    kMinutesSince  ///< since the earliest time of the records of `names[0]` before it:
                   ///< below_minutes
  };
  Kind kind = Kind::kValue;
  std::vector<std::string> names;
  std::size_t other_rule = 0;  ///< index in its file of the rule for `names[0]`: order and time
  Predicate predicate;
  std::string where_has;  ///< only records whose metadata has this member; "" for all
  double below_minutes = 0.0;
  /// Set: the limit in the open division, and 0 as long as no submission_division was seen.
  std::optional<double> below_minutes_in_open;
  std::size_t division_rule = 0;  ///< index in its file, where the limit depends on it
};

/// How often a key must occur.
struct Occurrence {
  enum class Kind {
    kAny,
    kOptional,    ///< as kAny, but named among the keys of a round
    kExactlyOne,  ///< more are forgiven, with a warning, where all values are equal
    kAtLeast,     ///< `times`
    kAtLeastOneOf
  };
  Kind kind = Kind::kAny;
  std::int64_t times = 1;
  std::vector<std::string> keys;  ///< of kAtLeastOneOf, itself among them; the first is blamed
  std::vector<std::size_t> other_rules;  ///< the rules for `keys`, by index in its file
};

/// Which file a record makes follow. "{}" in `file` stands for the record's value.
struct Then {
  std::string file;
  std::string where;  ///< only for this value; "" for all
  bool lower_case = false;
  /// Values that no file is needed for: the common rules are all there are.
  std::vector<std::string> common_rules_alone;
  /// The files that some value could choose, by index in the ruleset.
  std::vector<std::size_t> could_choose;
};

/// The members that the records of a key must have in their metadata: each of `names` once and
/// nothing else.
struct ExactlyThese {
  std::string member;
  std::vector<std::string> names;  ///< sorted
};

/// Where the records of a key are no lines of the log, but made of those of another key whose
/// metadata names a part: one for each position, an object of the parts' values and the position.
struct Gathered {
  std::string from;      ///< eval_accuracy
  std::string position;  ///< the member of the metadata: samples_count
  std::string part;      ///< the member of the metadata: metric
};

/// What is asked of one key.
struct Rule {
  std::string key;
  std::optional<Gathered> gathered;
  Occurrence occurs;
  std::vector<Check> checks;        ///< on every record; of a submission_ key, on the first
  std::vector<Assignment> sets;     ///< names, in this order, after the checks on every record
  std::vector<Check> first_checks;  ///< on the first record, after what it sets
  std::optional<Predicate> once;    ///< on at least one record, if there are any
  std::optional<Then> then;
  std::optional<ExactlyThese> exactly_these;
  /// Where formulas of the file refer to the key: the slot of its last value.
  std::optional<std::size_t> slot;

  bool gathers() const { return gathered.has_value(); }
  /// Ranks repeat these keys, so that only the first record is checked and followed.
  bool is_checked_once() const { return key.find("submission_") != std::string::npos; }
};

struct RuleFile {
  std::string name;
  std::vector<Rule> rules;                         ///< one for each key
  std::vector<Assignment> begins_with;             ///< names, before the first record
  std::vector<Formula> at_end;                     ///< each must hold when the log ends
  std::vector<std::optional<FormulaValue>> names;  ///< what formulas refer to, before any record

  const Rule* find(const std::string& key) const;
  /// "closed", "open" or "": what its name begins with.
  std::string division() const;
};

/// Where a rule stands.
struct RulePlace {
  std::size_t file = 0;  ///< index in the ruleset
  std::size_t rule = 0;  ///< index in its file
};

/// The rules that a record may concern, by its key and in the order of the files.
using RulesByKey = KeyTable<std::vector<RulePlace>>;

/// A round and what it is known by.
struct Round {
  std::string usage;      ///< "training" or "hpc"
  std::string number;     ///< "4.0"
  std::string published;  ///< "2024-06-12", the day of its results; "" where that is not known
  std::string source;     ///< of its rules
  LogFormat log_format = LogFormat::kMllog;    ///< of its logs
  std::string no_rules_because;                ///< set where it has none
  std::vector<std::string> benchmarks;         ///< listed in both divisions
  std::vector<std::string> closed_benchmarks;  ///< listed in the closed division only
  std::vector<std::string> no_rules;           ///< listed, but without rules upstream
  std::vector<std::string> no_open_rules;      ///< the same in the open division only

  std::string name() const { return usage + "-" + number; }            ///< "hpc-1.0"
  std::string ruleset() const { return usage + "-" + number + ".0"; }  ///< "hpc-1.0.0"
  bool lists(const std::string& benchmark) const;
  /// What it lists in a division; of "", in both.
  std::vector<std::string> listed_in(const std::string& division) const;
  /// Lists it, and does not lack rules for it.
  bool judges(const std::string& benchmark) const;
};

/// The rules of a round. A log is judged by the file "common" and those that its records make
/// follow, each over the whole log. The rule of a later file replaces what an earlier one found of
/// the same key.
struct Ruleset {
  std::string name;  ///< "hpc-1.0.0"; with what overlays add, "hpc-1.0.0+site"
  Round round;
  std::vector<RuleFile> files;         ///< the first is "common"
  RulesByKey by_key, by_gathered_key;  ///< the latter by the key that they gather from

  const RuleFile* find(const std::string& file) const;
};

}  // namespace mllog::rules
