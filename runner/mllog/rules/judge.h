// Judges a log by the rules of a round, record by record. While a log has not yet decided between
// rule files, all candidates are applied.
#pragma once

#include <memory>

#include "runner/mllog/rules/judgement.h"
#include "runner/mllog/rules/ruleset.h"

namespace mllog {
struct Record;
struct MalformedRecord;
}  // namespace mllog

namespace mllog::rules {

/// Judges a stream of records. For each rule, keeps the first thousand violations and counts the
/// rest, so memory does not grow with the number of records. It grows only with values that rules
/// gather or append, in proportion to the number of evaluations.
class Judge {
 public:
  /// `rules` outlives the judge.
  explicit Judge(const Ruleset& rules, Warnings warnings = Warnings::kAllowed);
  ~Judge();
  Judge(Judge&&) noexcept;

  /// The next record of the log, in file order.
  void add(const Record& record);
  void add(const MalformedRecord& record);

  /// The judgement as if the log ended here. May be called at any time.
  Judgement judgement() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace mllog::rules
