// Softmax cross entropy in double precision: a few thousand numbers a step.
// Hides nothing more.
#include "workloads/nn/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runner/base/error.h"

namespace nn {
namespace {

struct RowLoss {
  double loss;
  std::int64_t best;
};

RowLoss row_loss(std::span<const float> logits, std::size_t label, double smoothing, double scale,
                 std::span<float> diff) {
  const auto best = std::max_element(logits.begin(), logits.end());
  const double top = static_cast<double>(*best);
  double sum = 0.0;
  double mean = 0.0;
  for (const float logit : logits) {
    sum += std::exp(static_cast<double>(logit) - top);
    mean += static_cast<double>(logit);
  }
  const double classes = static_cast<double>(logits.size());
  mean /= classes;
  const double log_sum = top + std::log(sum);
  const double loss =
      log_sum - (1.0 - smoothing) * static_cast<double>(logits[label]) - smoothing * mean;
  for (std::size_t k = 0; k < diff.size(); ++k) {
    const double target = (k == label ? 1.0 - smoothing : 0.0) + smoothing / classes;
    diff[k] =
        static_cast<float>(scale * (std::exp(static_cast<double>(logits[k]) - log_sum) - target));
  }
  return {loss, best - logits.begin()};
}

}  // namespace

LossSums softmax_cross_entropy(std::span<const float> logits, std::span<const std::int32_t> labels,
                               double smoothing, double scale, std::span<float> diff_logits) {
  LossSums sums;
  if (labels.empty()) return sums;
  const std::size_t classes = logits.size() / labels.size();
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const std::int32_t label = labels[row];
    const auto diff =
        diff_logits.empty() ? std::span<float>() : diff_logits.subspan(row * classes, classes);
    if (label == -1) {
      std::fill(diff.begin(), diff.end(), 0.0F);
      continue;
    }
    if (label < -1 || static_cast<std::size_t>(label) >= classes) {
      throw base::DataError(fmt::format("label: expected 0..{}, got {}", classes - 1, label));
    }
    const RowLoss result = row_loss(logits.subspan(row * classes, classes),
                                    static_cast<std::size_t>(label), smoothing, scale, diff);
    sums.loss += result.loss;
    sums.correct += result.best == label && std::isfinite(result.loss) ? 1 : 0;
    ++sums.samples;
  }
  return sums;
}

}  // namespace nn
