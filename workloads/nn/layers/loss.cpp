// Losses, in double precision: they are of a few thousand elements per step.
#include "workloads/nn/layers/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "runner/base/ceil_div.h"
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

/// The bound on a row's binary cross entropy.
constexpr double kMostLoss = 100.0;
/// Rows whose losses are added one after the other; the sums of blocks are added in order.
constexpr std::size_t kBlockRows = 1024;

struct BinaryLoss {
  double loss, gradient;
};

/// log(1 + e^x) and its derivative: the loss of a row whose logit is x on the wrong side.
BinaryLoss loss_of_error(double x) {
  const double e = std::exp(-std::abs(x));
  const double loss = std::max(x, 0.0) + std::log1p(e);
  if (loss > kMostLoss) return {kMostLoss, 0.0};
  return {loss, (x >= 0.0 ? 1.0 : e) / (1.0 + e)};
}

LossSums binary_block(std::span<const float> logits, std::span<const float> labels, double scale,
                      std::span<float> diff) {
  LossSums sums;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    double gradient = 0.0;
    if (labels[row] >= 0.0F) {
      const bool yes = labels[row] > 0.0F;
      const double error = yes ? -static_cast<double>(logits[row]) : logits[row];
      const BinaryLoss result = loss_of_error(error);
      sums.loss += result.loss;
      sums.correct += (logits[row] > 0.0F) == yes && !std::isnan(error) ? 1 : 0;
      ++sums.samples;
      gradient = yes ? -result.gradient : result.gradient;
    }
    if (!diff.empty()) diff[row] = static_cast<float>(scale * gradient);
  }
  return sums;
}

void check_binary(std::span<const float> logits, std::span<const float> labels,
                  std::span<const float> diff) {
  if (logits.size() != labels.size() || (!diff.empty() && diff.size() != labels.size())) {
    throw base::ShapeError(fmt::format("binary cross entropy: {} labels, {} logits, {} gradients",
                                       labels.size(), logits.size(), diff.size()));
  }
  const auto wrong = std::find_if(labels.begin(), labels.end(), [](float label) {
    return label != 0.0F && label != 1.0F && label != -1.0F;
  });
  if (wrong != labels.end()) {
    throw base::DataError(fmt::format("label of row {}: expected 0, 1 or -1, got {}",
                                      wrong - labels.begin(), *wrong));
  }
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

LossSums binary_cross_entropy(std::span<const float> logits, std::span<const float> labels,
                              double scale, std::span<float> diff_logits) {
  check_binary(logits, labels, diff_logits);
  std::vector<LossSums> parts(base::ceil_div(labels.size(), kBlockRows));
#pragma omp parallel for schedule(static) if (parts.size() > 1)
  for (std::size_t block = 0; block < parts.size(); ++block) {
    const std::size_t first = block * kBlockRows;
    const std::size_t count = std::min(kBlockRows, labels.size() - first);
    const auto diff = diff_logits.empty() ? std::span<float>() : diff_logits.subspan(first, count);
    parts[block] =
        binary_block(logits.subspan(first, count), labels.subspan(first, count), scale, diff);
  }
  LossSums sums;
  for (const LossSums& part : parts) {
    sums.loss += part.loss;
    sums.correct += part.correct;
    sums.samples += part.samples;
  }
  return sums;
}

ErrorSums squared_error(std::span<const float> outputs, std::span<const float> targets,
                        std::int64_t width, double scale, std::span<float> diff_outputs) {
  const bool has_rows = width > 0 && targets.size() % static_cast<std::size_t>(width) == 0;
  const bool has_room = diff_outputs.empty() || diff_outputs.size() == outputs.size();
  if (!has_rows || !has_room || targets.size() > outputs.size()) {
    throw base::ShapeError(
        fmt::format("squared error: {} targets and {} gradients for {} outputs in rows of {}",
                    targets.size(), diff_outputs.size(), outputs.size(), width));
  }
  ErrorSums sums;
  std::fill(diff_outputs.begin(), diff_outputs.end(), 0.0F);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const double error = static_cast<double>(outputs[i]) - static_cast<double>(targets[i]);
    sums.squared += error * error;
    sums.absolute += std::abs(error);
    if (!diff_outputs.empty()) diff_outputs[i] = static_cast<float>(2.0 * scale * error);
  }
  sums.values = static_cast<std::int64_t>(targets.size());
  return sums;
}

}  // namespace nn
