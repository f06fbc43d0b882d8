// Losses of pixels in double precision.
#include "workloads/nn/layers/segmentation_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"

namespace nn {
namespace {

/// Pixels whose losses are added one after the other; the sums of blocks are added in order.
constexpr std::int64_t kBlockPoints = 4096;

struct Image {
  std::span<const float> logits;
  std::span<const std::uint8_t> labels;
  std::span<const double> weights;
  double scale;
  std::span<float> diff;
  std::size_t classes() const { return weights.size(); }
  std::size_t at(std::size_t which, std::size_t point) const {
    return which * labels.size() + point;
  }
};

void take_point(const Image& image, std::size_t point, PointLoss& sums) {
  const std::size_t best = found_class(image.logits, image.classes(), point);
  const auto top = static_cast<double>(image.logits[image.at(best, point)]);
  double sum = 0.0;
  for (std::size_t k = 0; k < image.classes(); ++k) {
    sum += std::exp(static_cast<double>(image.logits[image.at(k, point)]) - top);
  }
  const double log_sum = top + std::log(sum);
  const std::size_t label = image.labels[point];
  const double weight = image.weights[label];
  sums.loss += weight * (log_sum - static_cast<double>(image.logits[image.at(label, point)]));
  ++sums.classes[label].there;
  ++sums.classes[best].found;
  if (label == best) ++sums.classes[label].both;
  if (image.diff.empty()) return;
  for (std::size_t k = 0; k < image.classes(); ++k) {
    const double share = std::exp(static_cast<double>(image.logits[image.at(k, point)]) - log_sum);
    image.diff[image.at(k, point)] =
        static_cast<float>(image.scale * weight * (share - (k == label ? 1.0 : 0.0)));
  }
}

void check(const Image& image) {
  const std::size_t values = image.classes() * image.labels.size();
  if (image.logits.size() != values || (!image.diff.empty() && image.diff.size() != values)) {
    throw base::ShapeError(
        fmt::format("cross entropy of points: expected {} logits and as many gradients or none, "
                    "got {} and {}",
                    values, image.logits.size(), image.diff.size()));
  }
  const auto wrong = std::find_if(image.labels.begin(), image.labels.end(),
                                  [&](std::uint8_t label) { return label >= image.classes(); });
  if (wrong == image.labels.end()) return;
  throw base::DataError(fmt::format("cross entropy of points: expected labels below {}, got {}",
                                    image.classes(), *wrong));
}

}  // namespace

std::size_t found_class(std::span<const float> logits, std::size_t classes, std::size_t point) {
  const std::size_t points = logits.size() / classes;
  std::size_t best = 0;
  for (std::size_t k = 1; k < classes; ++k) {
    if (logits[k * points + point] > logits[best * points + point]) best = k;
  }
  return best;
}

double PointLoss::mean_iou() const {
  double sum = 0.0;
  for (const ClassPoints& points : classes) {
    const std::int64_t either = points.found + points.there - points.both;
    sum += either == 0 ? 1.0 : static_cast<double>(points.both) / static_cast<double>(either);
  }
  return sum / static_cast<double>(classes.size());
}

PointLoss& PointLoss::operator+=(const PointLoss& other) {
  loss += other.loss;
  for (std::size_t k = 0; k < classes.size(); ++k) {
    classes[k].both += other.classes[k].both;
    classes[k].found += other.classes[k].found;
    classes[k].there += other.classes[k].there;
  }
  return *this;
}

PointLoss weighted_cross_entropy(std::span<const float> logits,
                                 std::span<const std::uint8_t> labels,
                                 std::span<const double> weights, double scale,
                                 std::span<float> diff_logits) {
  const Image image = {logits, labels, weights, scale, diff_logits};
  check(image);
  const auto points = static_cast<std::int64_t>(labels.size());
  const std::int64_t blocks = base::ceil_div(points, kBlockPoints);
  PointLoss none;
  none.classes.resize(weights.size());
  std::vector<PointLoss> parts(static_cast<std::size_t>(blocks), none);
#pragma omp parallel for schedule(static)
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t first = block * kBlockPoints;
    for (std::int64_t point = first; point < std::min(first + kBlockPoints, points); ++point) {
      take_point(image, static_cast<std::size_t>(point), parts[static_cast<std::size_t>(block)]);
    }
  }
  PointLoss all = none;
  for (const PointLoss& part : parts) all += part;
  return all;
}

}  // namespace nn
