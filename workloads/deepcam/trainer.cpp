// Loading of batches of climate samples into the network, as float or bf16, and scores of its
// outputs.
#include "workloads/deepcam/trainer.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "workloads/nn/layers/segmentation_loss.h"

namespace deepcam {
namespace {

template <class T>
void normalize_all(const ClimateBatch& batch, const dataset::ClimateStatistics& statistics,
                   nn::Executor& executor) {
  const std::span<T> input = executor.input<T>(0);
  const std::size_t size = input.size() / batch.size();
  for (std::size_t slot = 0; slot < batch.size(); ++slot) {
    const std::span<T> place = input.subspan(slot * size, size);
    if (batch[slot].index() < 0) {
      std::fill(place.begin(), place.end(), T{});
    } else {
      normalize_into(batch[slot].sample(), statistics, place);
    }
  }
}

}  // namespace

const std::array<double, kClasses>& class_weights() {
  static const std::array<double, kClasses> weights = [] {
    constexpr double kPower = -0.125;
    std::array<double, kClasses> values = {0.986267818390377, 0.0004578708870701058,
                                           0.01327431072255291};
    for (double& value : values) value = std::pow(value, kPower);
    return values;
  }();
  return weights;
}

void load_batch(const ClimateBatch& batch, const dataset::ClimateStatistics& statistics,
                nn::Executor& executor) {
  if (executor.precision() == nn::Precision::kBf16) {
    normalize_all<nn::Bf16>(batch, statistics, executor);
  } else {
    normalize_all<float>(batch, statistics, executor);
  }
}

Scores& Scores::operator+=(const Scores& other) {
  loss += other.loss;
  iou += other.iou;
  samples += other.samples;
  counts += other.counts;
  return *this;
}

Scores judge(const ClimateBatch& batch, double scale, nn::Executor& executor, IouOver over) {
  const std::span<const float> outputs = executor.outputs();
  const std::span<float> gradient = scale == 0.0 ? std::span<float>() : executor.output_gradient();
  const std::size_t size = outputs.size() / batch.size();
  Scores sums;
  nn::PointLoss together;
  together.classes.resize(kClasses);
  for (std::size_t slot = 0; slot < batch.size(); ++slot) {
    const std::span<float> diff = gradient.empty() ? gradient : gradient.subspan(slot * size, size);
    if (batch[slot].index() < 0) {
      std::fill(diff.begin(), diff.end(), 0.0F);
      continue;
    }
    const auto& labels = batch[slot].sample().labels;
    const nn::PointLoss points = nn::weighted_cross_entropy(outputs.subspan(slot * size, size),
                                                            labels, class_weights(), scale, diff);
    sums.loss += points.loss / static_cast<double>(labels.size());
    ++sums.samples;
    if (over == IouOver::kSample) {
      sums.iou += points.mean_iou();
      ++sums.counts;
    } else {
      together += points;
    }
  }
  if (over == IouOver::kBatch && sums.samples > 0) {
    sums.iou = together.mean_iou();
    sums.counts = 1;
  }
  return sums;
}

}  // namespace deepcam
