// The facts of each MLPerf benchmark, by round: the target, the unit of positions in logs, the
// number of runs per result. Source: configs/benchmarks.json.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/embedded_file.h"
#include "runner/mllog/quality_target.h"
#include "runner/mllog/schedule.h"

namespace mllog {

/// The unit of an evaluation's position in a log.
enum class PositionUnit {
  kEpochs,   ///< the number of an epoch, from 0 or 1
  kPasses,   ///< passes over the training data so far, fractional: 0.05, 0.1
  kSamples,  ///< samples (sequences, images, prompts) trained so far
  kTokens,   ///< tokens trained so far
  kSteps     ///< optimizer steps so far
};
/// "epochs", "passes over the data", "samples", "tokens", "steps".
const char* to_string(PositionUnit unit);

/// How a benchmark is evaluated.
struct EvaluationFacts {
  QualityTarget target;
  std::string position;  ///< metadata member with the position: epoch_num, samples_count, step_num
  PositionUnit counts = PositionUnit::kEpochs;
  std::int64_t tokens_per_sample = 0;  ///< for kTokens
  /// Positions from this value on count samples, whatever `counts` says; 0: no such limit.
  double samples_from = 0.0;
  /// Checkpoints may be evaluated in any order and after training; that time does not count.
  bool of_checkpoints = false;
};

/// A limit of the policy for a setting, in addition to the rules that a checker applies to logs.
struct SettingBound {
  std::string key;
  std::optional<double> equals, at_least, above, at_most, below;
  bool whole = false;                 ///< must be an integer
  std::optional<double> batch_below;  ///< applies only below this global batch size

  bool met_by(double value) const;
  /// "must be 0.9".
  std::string words() const;
};

/// The facts of one benchmark. Rounds are numbers such as "0.7" of the benchmark's usage; "" is the
/// newest.
class Benchmark {
 public:
  std::string name;   ///< submission_benchmark
  std::string usage;  ///< "training" or "hpc"
  /// Number of runs that the olympic mean drops at each end: the fastest, and the slowest or
  /// failing ones.
  std::int64_t dropped_each_end = 1;
  std::vector<std::int64_t> train_samples, eval_samples;  ///< of the dataset; empty: not fixed
  std::vector<SettingBound> bounds;

  /// Without `global_batch_size`, for logs that lack it: the facts for the largest batches.
  const EvaluationFacts& evaluation(std::string_view round = {},
                                    std::optional<double> global_batch_size = {}) const;
  /// The global batch size from which on the largest batches' facts apply; nothing if the facts are
  /// the same for every size.
  std::optional<double> batch_limit(std::string_view round) const;
  /// The number of runs per result.
  std::int64_t runs(std::string_view round = {}) const;
  /// The number of runs that count, if only the first to start among the converging ones do;
  /// nothing if all count.
  std::optional<std::int64_t> first_converging(std::string_view round = {}) const;
  /// When it is evaluated; null if the policy does not say.
  const Schedule* schedule(std::string_view round = {}) const;

 private:
  friend class BenchmarkReader;
  template <class T>
  struct Dated {
    std::string since, until;  ///< rounds; "": no limit
    std::optional<double> batch_below;
    T facts;
  };
  struct ResultRuns {
    std::int64_t count = 0;
    std::optional<std::int64_t> first_converging;
  };
  const ResultRuns& result_runs(std::string_view round) const;

  std::vector<Dated<EvaluationFacts>> evaluations_;  ///< the first match applies
  std::vector<Dated<ResultRuns>> runs_;
  std::optional<Dated<Schedule>> schedule_;
};

/// The embedded benchmarks. Throws ConfigError if they violate their schema.
const std::vector<Benchmark>& benchmarks();
/// Null if there is no benchmark called `name`.
const Benchmark* find_benchmark(std::string_view name);
/// Parses `text` in the schema of configs/benchmarks.json; `file` appears in messages.
std::vector<Benchmark> read_benchmarks(std::string_view text, const std::string& file);

/// Whether `text` has the form of a round's number: "0.7", "10.1".
bool is_round_number(std::string_view text);
/// Whether round `one` is before `other`, compared numerically: 9.1 is before 10.0.
bool is_earlier_round(std::string_view one, std::string_view other);

/// The embedded file benchmarks.json.
std::span<const base::EmbeddedFile> embedded_benchmarks();

}  // namespace mllog
