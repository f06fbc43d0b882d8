// Judges a log by the rules of a round, record by record.
// Hides which rule files a log makes follow: all that could are applied at once until it is known.
#pragma once

#include <memory>

#include "runner/mllog/rules/judgement.h"
#include "runner/mllog/rules/ruleset.h"

namespace mllog {
struct Record;
struct MalformedRecord;
}  // namespace mllog

namespace mllog::rules {

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
