// The rules of one round, as the judge applies them.
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

/// A requirement on every record of a key.
struct Check {
  enum class Kind {
    kValue,        ///< the value: `predicate`
    kMember,       ///< the member `names[0]` of its metadata: `predicate`
    kHasAny,       ///< its metadata has one of the members `names`
    kAfter,        ///< a record of `names[0]` precedes it in the file
    kBefore,       ///< no record of `names[0]` precedes it in the file
    kMinutesSince  ///< less than below_minutes since the earliest time of the preceding records of
                   ///< `names[0]`
  };
  Kind kind = Kind::kValue;
  std::vector<std::string> names;
  std::size_t other_rule = 0;  ///< for order and time: index in its file of the rule for `names[0]`
  Predicate predicate;
  std::string where_has;  ///< applies only to records whose metadata has this member; "" for all
  double below_minutes = 0.0;
  /// If set: the limit in the open division; 0 until submission_division is seen.
  std::optional<double> below_minutes_in_open;
  std::size_t division_rule = 0;  ///< index in its file, if the limit depends on the division
};

/// How often a key must occur.
struct Occurrence {
  enum class Kind {
    kAny,
    kOptional,    ///< like kAny, but listed among the keys of a round
    kExactlyOne,  ///< more give only a warning if all values are equal
    kAtLeast,     ///< `times`
    kAtLeastOneOf
  };
  Kind kind = Kind::kAny;
  std::int64_t times = 1;
  std::vector<std::string> keys;  ///< of kAtLeastOneOf, including its own; the first is blamed
  std::vector<std::size_t> other_rules;  ///< the rules for `keys`, by index in its file
};

/// The file that applies after a record. "{}" in `file` stands for the record's value.
struct Then {
  std::string file;
  std::string where;  ///< applies only to this value; "" for all
  bool lower_case = false;
  /// Values for which the common rules suffice and no file is needed.
  std::vector<std::string> common_rules_alone;
  /// The files that some value could select, by index in the ruleset.
  std::vector<std::size_t> could_choose;
};

/// The values of a metadata member over all records of a key must be `names`, each exactly once.
struct ExactlyThese {
  std::string member;
  std::vector<std::string> names;  ///< sorted
};

/// A key whose records are not in the log but combined from those of another key whose metadata
/// names a part. There is one record per position: an object with the parts' values and the
/// position.
struct Gathered {
  std::string from;      ///< eval_accuracy
  std::string position;  ///< metadata member: samples_count
  std::string part;      ///< metadata member: metric
};

/// The requirements on one key.
struct Rule {
  std::string key;
  std::optional<Gathered> gathered;
  Occurrence occurs;
  std::vector<Check> checks;        ///< on every record; only on the first for a submission_ key
  std::vector<Assignment> sets;     ///< names to set, in this order, after the checks on every
                                    ///< record
  std::vector<Check> first_checks;  ///< on the first record, after `sets`
  std::optional<Predicate> once;    ///< on at least one record, if there are any
  std::optional<Then> then;
  std::optional<ExactlyThese> exactly_these;
  /// If formulas of the file refer to the key: the slot of its last value.
  std::optional<std::size_t> slot;

  bool gathers() const { return gathered.has_value(); }
  /// Ranks repeat these keys, so only the first record is checked and followed.
  bool is_checked_once() const { return key.find("submission_") != std::string::npos; }
};

struct RuleFile {
  std::string name;
  std::vector<Rule> rules;                         ///< one per key
  std::vector<Assignment> begins_with;             ///< names set before the first record
  std::vector<Formula> at_end;                     ///< each must hold at the end of the log
  std::vector<std::optional<FormulaValue>> names;  ///< values of names before the first record

  const Rule* find(const std::string& key) const;
  /// "closed", "open" or "", according to its name's prefix.
  std::string division() const;
};

/// The position of a rule.
struct RulePlace {
  std::size_t file = 0;  ///< index in the ruleset
  std::size_t rule = 0;  ///< index in its file
};

/// The rules that may apply to a record, by its key, in the order of the files.
using RulesByKey = KeyTable<std::vector<RulePlace>>;

/// A round and its properties.
struct Round {
  std::string usage;      ///< "training" or "hpc"
  std::string number;     ///< "4.0"
  std::string published;  ///< "2024-06-12", the day its results were published; "" if unknown
  std::string source;     ///< of its rules
  LogFormat log_format = LogFormat::kMllog;    ///< of its logs
  std::string no_rules_because;                ///< set if it has none
  std::vector<std::string> benchmarks;         ///< listed in both divisions
  std::vector<std::string> closed_benchmarks;  ///< listed in the closed division only
  std::vector<std::string> no_rules;           ///< listed, but without rules upstream
  std::vector<std::string> no_open_rules;      ///< the same in the open division only

  std::string name() const { return usage + "-" + number; }            ///< "hpc-1.0"
  std::string ruleset() const { return usage + "-" + number + ".0"; }  ///< "hpc-1.0.0"
  bool lists(const std::string& benchmark) const;
  /// The benchmarks listed in a division; in both for "".
  std::vector<std::string> listed_in(const std::string& division) const;
  /// Whether the benchmark is listed and has rules.
  bool judges(const std::string& benchmark) const;
};

/// The rules of a round. A log is judged by the file "common" and the files that its records
/// select, each applied to the whole log. A later file's rule replaces an earlier file's findings
/// for the same key.
struct Ruleset {
  std::string name;  ///< "hpc-1.0.0"; with overlays "hpc-1.0.0+site"
  Round round;
  std::vector<RuleFile> files;         ///< the first is "common"
  RulesByKey by_key, by_gathered_key;  ///< the latter by the key that they gather from

  const RuleFile* find(const std::string& file) const;
};

}  // namespace mllog::rules
