// Judges a log by the rules of a round, record by record.
// Hides which rule files a log makes follow: all that could are applied at once until it is known.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runner/mllog/finding.h"
#include "runner/mllog/rules/ruleset.h"

namespace mllog {
struct Record;
struct MalformedRecord;
}  // namespace mllog

namespace mllog::rules {

enum class Warnings { kAllowed, kAreErrors };

/// What was found of a key: a Finding whose rule is "<file>/<key>/<aspect>", or "log/<aspect>".
struct KeyFinding {
  Finding finding;
  std::string key;  ///< "" for the log as a whole
};

/// The verdict of mlcommons' compliance checker, and every reason for it.
struct Judgement {
  bool passes = false;
  std::string ruleset;
  std::vector<std::string> files;    ///< the rule files that applied, in their order
  std::vector<KeyFinding> findings;  ///< by place; those of the whole log last
  /// The keys that mlcommons' messages name, sorted. Of alternatives, one; none where only
  /// the set of initialized tensors is wrong.
  std::vector<std::string> failing_keys;
};

/// Judges a stream of records in memory that does not grow with their number: of each rule, the
/// first thousand violations are kept and the rest counted. Only what rules gather or append grows,
/// with the number of evaluations.
class Judge {
 public:
  /// `rules` outlives the judge.
  explicit Judge(const Ruleset& rules, Warnings warnings = Warnings::kAllowed);
  ~Judge();
  Judge(Judge&&) noexcept;

  /// The next record of the log, in file order.
  void add(const Record& record);
  void add(const MalformedRecord& record);

  /// If the log ended here. May be asked at any time.
  Judgement judgement() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace mllog::rules
