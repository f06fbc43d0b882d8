// When the rules require evaluations of a benchmark: the first one, and the interval.
#pragma once

#include <optional>
#include <string>

namespace base {
class ObjectReader;
}

namespace mllog {

/// A number that depends linearly on the global batch size.
struct OfBatchSize {
  double per_sample = 0.0, plus = 0.0;
  double multiple_of = 1.0;  ///< rounded down to a multiple of this

  double at(double global_batch_size) const;
};

/// The position of the first evaluation.
struct FirstEvaluation {
  OfBatchSize left_out;      ///< number of evaluations skipped before it
  std::optional<double> at;  ///< instead of left_out: the position, in the schedule's unit
  bool or_earlier = false;
};

struct Schedule {
  enum class Unit {
    kPositions,              ///< the unit of positions in the benchmark's logs
    kBatches,                ///< global batches
    kSamplesInWholeBatches,  ///< rounded up to whole batches
    kSamplesInWholeEpochs    ///< rounded up to whole epochs; an epoch's last batch may be padded
  };
  double every = 0.0;
  std::optional<OfBatchSize> every_by_batch;  ///< instead of `every`
  Unit in = Unit::kPositions;
  std::string words;                     ///< "every 4 epochs"
  std::optional<FirstEvaluation> first;  ///< absent: no requirement in this schedule
};

/// Reads the member "evaluated" of a benchmark in configs/benchmarks.json, except its rounds.
/// Throws ConfigError if it violates the schema.
Schedule read_schedule(const base::ObjectReader& in);

}  // namespace mllog
