// The facts of each MLPerf benchmark: what ends a run, what its logs' positions count, how many
// runs make a result. Hides configs/benchmarks.json, and how the facts of one round are picked.
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

/// What the number that says where an evaluation stands counts.
enum class PositionUnit {
  kEpochs,   ///< the number of an epoch, from 0 or 1
  kPasses,   ///< passes over the training data so far, with fractions: 0.05, 0.1
  kSamples,  ///< samples (sequences, images, prompts) trained so far
  kTokens,   ///< tokens trained so far
  kSteps     ///< optimizer steps so far
};
/// "epochs", "passes over the data", "samples", "tokens", "steps".
const char* to_string(PositionUnit unit);

/// How a benchmark is evaluated.
struct EvaluationFacts {
  QualityTarget target;
  std::string position;  ///< the metadata member that tells it: epoch_num, samples_count, step_num
  PositionUnit counts = PositionUnit::kEpochs;
  std::int64_t tokens_per_sample = 0;  ///< of kTokens
  /// Positions of at least this count samples, whatever `counts` says; 0 where none do.
  double samples_from = 0.0;
  /// Checkpoints may be evaluated in any order and after training, which does not count as time.
  bool of_checkpoints = false;
};

/// What the policy allows for a setting, beside the rules that a checker holds logs to.
struct SettingBound {
  std::string key;
  std::optional<double> equals, at_least, above, at_most, below;
  bool whole = false;                 ///< a whole number
  std::optional<double> batch_below;  ///< holds only for smaller global batches

  bool met_by(double value) const;
  /// "must be 0.9".
  std::string words() const;
};

/// Rounds are numbers, "0.7", of the benchmark's usage; "" is the newest.
class Benchmark {
 public:
  std::string name;   ///< submission_benchmark
  std::string usage;  ///< "training" or "hpc"
  /// Fastest runs that the olympic mean drops, and slowest or failing ones.
  std::int64_t dropped_each_end = 1;
  std::vector<std::int64_t> train_samples, eval_samples;  ///< the dataset's; empty: not fixed
  std::vector<SettingBound> bounds;

  /// Without a batch size where the log has none: then of the largest.
  const EvaluationFacts& evaluation(std::string_view round = {},
                                    std::optional<double> global_batch_size = {}) const;
  /// The global batch size from which on the largest's evaluation holds; nothing where it holds
  /// for every size.
  std::optional<double> batch_limit(std::string_view round) const;
  /// That one result takes.
  std::int64_t runs(std::string_view round = {}) const;
  /// How many runs make the result, where only the first to start among those that converge do;
  /// nothing where all count.
  std::optional<std::int64_t> first_converging(std::string_view round = {}) const;
  /// When it is evaluated; null where the policy leaves it open.
  const Schedule* schedule(std::string_view round = {}) const;

 private:
  friend class BenchmarkReader;
  template <class T>
  struct Dated {
    std::string since, until;  ///< rounds; "" where there is no limit
    std::optional<double> batch_below;
    T facts;
  };
  struct ResultRuns {
    std::int64_t count = 0;
    std::optional<std::int64_t> first_converging;
  };
  const ResultRuns& result_runs(std::string_view round) const;

  std::vector<Dated<EvaluationFacts>> evaluations_;  ///< the first that fits
  std::vector<Dated<ResultRuns>> runs_;
  std::optional<Dated<Schedule>> schedule_;
};

/// The embedded ones. Throws ConfigError where they break their own schema.
const std::vector<Benchmark>& benchmarks();
/// Null for a name that is not among them.
const Benchmark* find_benchmark(std::string_view name);
/// `text` in the schema of configs/benchmarks.json; `file` stands in messages.
std::vector<Benchmark> read_benchmarks(std::string_view text, const std::string& file);

/// Whether `text` looks like a round's number: "0.7", "10.1".
bool is_round_number(std::string_view text);
/// Whether the round `one` is before `other`, by numbers: 9.1 is before 10.0.
bool is_earlier_round(std::string_view one, std::string_view other);

/// benchmarks.json.
std::span<const base::EmbeddedFile> embedded_benchmarks();

}  // namespace mllog
