// Softmax cross entropy with label smoothing, and what an evaluation counts.
// Hides the stabilised logarithm of the sum.
#pragma once

#include <cstdint>
#include <span>

namespace nn {

struct LossSums {
  double loss = 0.0;  ///< sum over samples
  std::int64_t correct =
      0;  ///< samples whose largest logit is the label's (the first of equals) and finite
  std::int64_t samples = 0;  ///< samples with a label
};

/// logits [N, classes] row-major; labels [N], -1 marks a row that holds no sample. Targets: (1 -
/// smoothing) on the label plus smoothing / classes on every class, the label too. diff_logits,
/// when not empty, receives scale times the gradient of the loss sum. Throws DataError for a label
/// outside [-1, classes).
LossSums softmax_cross_entropy(std::span<const float> logits, std::span<const std::int32_t> labels,
                               double smoothing, double scale, std::span<float> diff_logits);

}  // namespace nn
