// Collects from the records of a log what the RCP test needs.
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
  std::string name;                  ///< for messages; set by the caller
  std::string benchmark;             ///< the last submission_benchmark; "" if none
  std::optional<double> batch_size;  ///< the last global_batch_size
  bool succeeded = false;            ///< the last run_stop has status success
  /// The position, in the benchmark's unit, of the last evaluation before that run_stop; an
  /// epoch_num is rounded to 3 decimals. If each part of the target has records of its own
  /// (stable_diffusion): the first position at which all parts are met. Absent without success.
  std::optional<double> converged_after;
  std::vector<mllog::Finding> findings;  ///< about figures from unexpected records
};

/// Add every item of a log in order (std::visit an mllog::LogItem), then call run().
///
/// The official checker takes any record whose text holds "eval_accuracy", "eval_error",
/// "global_batch_size" or "submission_benchmark", not only those with such a key. So does this
/// class, if the record has a usable value; if it has another key, a finding says so.
class RcpCollector {
 public:
  /// `round`, such as "3.1", decides which positions a benchmark's logs have; "" is the newest.
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
  void add_finding(Oddity oddity, const mllog::Record& record, const std::string& text);

  RcpRun run_;
  std::set<Oddity> reported_;  ///< one finding for each kind
  std::string round_;
  const mllog::EvaluationFacts* facts_ = nullptr;  ///< of the benchmark; null while it is unknown
  std::optional<double> last_position_;
  std::map<double, std::map<std::string, double>> qualities_;  ///< by position and metric
};

}  // namespace analysis::submission
