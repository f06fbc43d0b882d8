// The scaling model: what one batch on one number of ranks costs, sends and takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runner/scale/rates.h"
#include "runner/training_scale.h"

namespace scale {

/// Times of a step in seconds. At least: gradients travel behind all computation that they can be
/// behind, and no message waits for another but those that must. At most: nothing is hidden, and
/// messages leave one after the other.
struct StepTime {
  double compute_s = 0;  ///< of the rank with most samples
  /// Sending alone, and the whole step; absent if the link is not known.
  std::optional<double> exchange_least_s, exchange_most_s, step_least_s, step_most_s;
};

/// Nothing without a compute rate. On one node nothing is sent between nodes.
std::optional<StepTime> predict(const runner::TrainingScale& scale, const Rates& rates);

/// The counts of You et al. (LARS): the iterations E n / B of training n samples E times in batches
/// of B, the messages log2(P) E n / B of P ranks, and the bytes |W| E n / B of W weights, each one
/// sum an iteration along a tree.
struct PaperCounts {
  std::int64_t iterations = 0;  ///< rounded down
  double messages = 0, bytes = 0;
};
PaperCounts paper_counts(std::int64_t parameters, std::int64_t samples, std::int64_t epochs,
                         std::int64_t batch, std::int64_t ranks);

/// A batch on a number of ranks.
struct Row {
  std::int64_t batch = 0, ranks = 0, epochs = 0;
  std::string problem;  ///< why it cannot be trained; then the following are empty
  runner::TrainingScale scale = {};
  std::optional<StepTime> time = {};
};

}  // namespace scale
