// What the test against reference convergence points needs of one log, record by record.
// Hides which records the official checker looks at.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runner/mllog/finding.h"

namespace mllog {
struct Record;
struct MalformedRecord;
}  // namespace mllog

namespace analysis::submission {

/// One run, as the official checker sees it.
struct RcpRun {
  std::string name;                  ///< for messages; the caller gives it
  std::string benchmark;             ///< submission_benchmark, the last; "" where there is none
  std::optional<double> batch_size;  ///< global_batch_size, the last
  /// metadata.epoch_num, rounded to 3 decimals, of the last evaluation before the last run_stop;
  /// absent: that run_stop has no status success, or there is none.
  std::optional<double> converged_after;
  std::vector<mllog::Finding> findings;  ///< where those figures come from odd records
};

/// Feed every item of a log in order (std::visit an mllog::LogItem), then ask for the run.
///
/// The official checker takes any record whose text holds "eval_accuracy", "eval_error",
/// "global_batch_size" or "submission_benchmark", not only those with such a key. So does this, as
/// far as that record has a usable value; where it is another key, a finding says so.
class RcpCollector {
 public:
  void add(const mllog::Record& record);
  void add(const mllog::MalformedRecord&) {}
  RcpRun run() const;

 private:
  void note_batch_size(const mllog::Record& record);
  void note_evaluation(const mllog::Record& record);
  enum class Oddity { kBatchSize, kEvaluation, kNoEpoch };
  void tell(Oddity oddity, const mllog::Record& record, const std::string& text);

  RcpRun run_;
  std::set<Oddity> told_;  ///< one finding for each kind
  std::optional<double> last_epoch_;
};

}  // namespace analysis::submission
