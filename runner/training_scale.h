// What training on a number of ranks costs and sends, as the formulas behind training have it.
#pragma once

#include <cstdint>

#include "runner/sent_volume.h"

namespace runner {

/// What all nodes send to each other in a step.
struct NodeTraffic {
  SentVolume rank;  ///< bytes, and messages, of the rank that sends most of them
  SentVolume node;  ///< of the node
  SentVolume all;   ///< of all nodes together
  /// Messages that must follow one another until all nodes have the sums of a piece.
  std::int64_t rounds = 0;
};

struct TrainingScale {
  std::int64_t parameters = 0;     ///< of the model that every rank replicates
  std::int64_t train_samples = 0;  ///< in an epoch's dataset
  std::int64_t global_batch = 0;
  std::int64_t steps_per_epoch = 0;  ///< a remainder of samples is dropped
  /// Of a sample: 2 x multiply-accumulates of convolutions and matrix products, on all ranks that
  /// share it. Training: forward and backward passes.
  std::int64_t forward_flops = 0, training_flops = 0;
  /// Samples of a step on the rank that has most, if ranks that share a sample count a part each.
  double rank_samples = 0;
  std::int64_t nodes = 1;
  std::int64_t gradient_bytes = 0;  ///< of a rank: parameters in the layouts of this CPU, padded
  NodeTraffic gradients;
  /// Of a step's computation, the share that gradients may travel behind.
  double hiding_share = 0;
  bool tries_pieces = false;  ///< the first steps try pieces of other sizes
};

}  // namespace runner
