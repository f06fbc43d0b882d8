// What the test against reference convergence points needs of one log, record by record.
// Hides which records the official checker looks at.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runner/mllog/benchmarks.h"
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
  bool succeeded = false;            ///< the last run_stop has status success
  /// The position, in the benchmark's unit, of the last evaluation before that run_stop; an
  /// epoch_num is rounded to 3 decimals. Where the parts of the target come in records of their own
  /// (stable_diffusion), the first position at which all are met. Absent without success.
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
  /// `round`: "3.1", which decides what positions a benchmark's logs have; "" is the newest.
  explicit RcpCollector(std::string round = {}) : round_(std::move(round)) {}
  void add(const mllog::Record& record);
  void add(const mllog::MalformedRecord&) {}
  RcpRun run() const;

 private:
  void note_benchmark(const mllog::Record& record);
  void note_batch_size(const mllog::Record& record);
  void note_evaluation(const mllog::Record& record);
  void note_stop(const mllog::Record& record);
  bool has_parts_apart() const;
  std::optional<double> first_position_that_meets_all() const;
  enum class Oddity { kBatchSize, kEvaluation, kNoPosition, kNotMet };
  void tell(Oddity oddity, const mllog::Record& record, const std::string& text);

  RcpRun run_;
  std::set<Oddity> told_;  ///< one finding for each kind
  std::string round_;
  const mllog::EvaluationFacts* facts_ = nullptr;  ///< of the benchmark; null while it is unknown
  std::optional<double> last_position_;
  std::map<double, std::map<std::string, double>> qualities_;  ///< by position and metric
};

}  // namespace analysis::submission
