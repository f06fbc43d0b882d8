// When the rules have a benchmark evaluated: the first time, and how far apart.
#pragma once

#include <optional>
#include <string>

namespace base {
class ObjectReader;
}

namespace mllog {

/// A number that grows with the global batch size.
struct OfBatchSize {
  double per_sample = 0.0, plus = 0.0;
  double multiple_of = 1.0;  ///< rounded down to one

  double at(double global_batch_size) const;
};

/// Where the first evaluation belongs.
struct FirstEvaluation {
  OfBatchSize left_out;      ///< evaluations that are left out before it
  std::optional<double> at;  ///< in place of that: how far the training is, in the schedule's unit
  bool or_earlier = false;
};

struct Schedule {
  enum class Unit {
    kPositions,              ///< what the positions of the benchmark's logs count
    kBatches,                ///< global batches
    kSamplesInWholeBatches,  ///< rounded up
    kSamplesInWholeEpochs    ///< rounded up; an epoch's last batch may be padded
  };
  double every = 0.0;
  std::optional<OfBatchSize> every_by_batch;  ///< in place of `every`
  Unit in = Unit::kPositions;
  std::string words;                     ///< "every 4 epochs"
  std::optional<FirstEvaluation> first;  ///< absent where nothing is asked of it here
};

/// The member "evaluated" of a benchmark in configs/benchmarks.json, but for its rounds. Throws
/// ConfigError where it breaks the schema.
Schedule read_schedule(const base::ObjectReader& in);

}  // namespace mllog
