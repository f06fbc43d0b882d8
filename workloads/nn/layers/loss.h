// Cross entropies of classes and of binary labels, squared errors, and what an evaluation counts.
#pragma once

#include <cstdint>
#include <span>

namespace nn {

struct LossSums {
  double loss = 0.0;  ///< sum over samples
  std::int64_t correct =
      0;  ///< samples whose first largest logit is the label's, and whose loss is finite
  std::int64_t samples = 0;  ///< samples with a label
};

/// logits [N, classes] row-major; labels [N], -1 marks a row without a sample. Targets: (1 -
/// smoothing) on the label plus smoothing / classes on every class, the label too. diff_logits,
/// when not empty, receives scale times the gradient of the loss sum. Throws DataError for a label
/// outside [-1, classes).
LossSums softmax_cross_entropy(std::span<const float> logits, std::span<const std::int32_t> labels,
                               double smoothing, double scale, std::span<float> diff_logits);

/// logits [N]; labels [N]: 0, 1, or -1 for a row without a sample. The loss of a row is
///   -y max(log p, -100) - (1 - y) max(log(1 - p), -100),  p = 1 / (1 + e^-logit),
/// computed from the logit, so that it is exact up to the bound, which a logit of 100 on the wrong
/// side reaches; beyond it the loss is 100 and the gradient 0. (A p rounded to single precision is
/// 1 from a logit of 17 on: there the reference already has loss 100 and gradient 0.) A sample
/// counts as correct if its logit is above 0 exactly when its label is 1. diff_logits, when not
/// empty, receives scale times the gradient of the loss sum. The same bits on any number of
/// threads. Throws DataError for another label, ShapeError for spans of unequal length.
/// Source: the clamp is that of PyTorch's BCELoss, which the reference DLRM uses.
LossSums binary_cross_entropy(std::span<const float> logits, std::span<const float> labels,
                              double scale, std::span<float> diff_logits);

/// Sums over all values of all rows.
struct ErrorSums {
  double squared = 0.0, absolute = 0.0;
  std::int64_t values = 0;
};

/// outputs [N, width] row-major; targets likewise, of the first N' rows: the others hold no sample.
/// diff_outputs, when not empty, receives scale times the gradient of the sum of squared errors,
/// which is 0 for the other rows. Throws ShapeError for more targets than outputs, or for
/// incomplete rows.
ErrorSums squared_error(std::span<const float> outputs, std::span<const float> targets,
                        std::int64_t width, double scale, std::span<float> diff_outputs);

}  // namespace nn
