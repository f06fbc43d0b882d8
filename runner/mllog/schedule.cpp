// Reads evaluation schedules.
#include "runner/mllog/schedule.h"

#include <cmath>

#include "runner/base/object_reader.h"

namespace mllog {
namespace {

using base::ObjectReader;

OfBatchSize read_of_batch_size(const ObjectReader& in) {
  OfBatchSize number;
  number.per_sample = in.optional<double>("per_sample", 0.0, "factor of the global batch size");
  number.plus = in.optional<double>("plus", 0.0, "what is added to the product");
  number.multiple_of =
      in.optional<double>("multiple_of", 1.0, "rounded down to a multiple", base::positive());
  return number;
}

FirstEvaluation read_first(const ObjectReader& in) {
  FirstEvaluation first;
  if (in.has("left_out")) {
    first.left_out = read_of_batch_size(in.object("left_out", "evaluations before it"));
  }
  if (in.has("at")) {
    first.at = in.required<double>("at", "how far the training is", base::positive());
  }
  first.or_earlier = in.optional<bool>("or_earlier", false, "it may be earlier");
  return first;
}

}  // namespace

double OfBatchSize::at(double global_batch_size) const {
  return std::floor((per_sample * global_batch_size + plus) / multiple_of) * multiple_of;
}

Schedule read_schedule(const ObjectReader& in) {
  using enum Schedule::Unit;
  Schedule schedule;
  if (in.has("every_by_batch")) {
    schedule.every_by_batch =
        read_of_batch_size(in.object("every_by_batch", "distance of evaluations"));
  } else {
    schedule.every = in.required<double>("every", "distance of evaluations", base::positive());
  }
  schedule.in = in.choice<Schedule::Unit>("in", kPositions,
                                          {{"positions", kPositions},
                                           {"batches", kBatches},
                                           {"samples_in_whole_batches", kSamplesInWholeBatches},
                                           {"samples_in_whole_epochs", kSamplesInWholeEpochs}},
                                          "unit of the distance");
  schedule.words = in.required<std::string>("words", "the distance in words", base::not_empty());
  if (in.has("first")) schedule.first = read_first(in.object("first", "the first evaluation"));
  return schedule;
}

}  // namespace mllog
