// Cross entropy of an image's pixels, weighted by class, and how well classes are found.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nn {

/// The class predicted for pixel `point` of an image with logits [classes, pixels]: that of the
/// largest logit, the first of equals; 0 if the first logit is NaN.
std::size_t found_class(std::span<const float> logits, std::size_t classes, std::size_t point);

/// Pixels of a class, by label and by prediction.
struct ClassPoints {
  std::int64_t both = 0;   ///< labelled and predicted as the class
  std::int64_t found = 0;  ///< predicted as the class
  std::int64_t there = 0;  ///< labelled as the class
};

struct PointLoss {
  double loss = 0.0;  ///< sum over pixels, each times its class's weight
  std::vector<ClassPoints> classes;
  /// Mean over the classes of both / (found + there - both), the intersection over union; 1 for a
  /// class that is neither labelled nor predicted. Source: mlcommons/hpc,
  /// deepcam/src/deepCam/utils/metric.py.
  double mean_iou() const;
  /// Adds the counts of another image, or block of pixels, with as many classes.
  PointLoss& operator+=(const PointLoss& other);
};

/// One image: logits [classes, pixels]; labels [pixels] below classes; predictions are those of
/// found_class(). diff_logits, when not empty, receives scale times the gradient of the loss. The
/// same bits on any number of threads. Throws DataError for another label, ShapeError for spans
/// that do not match.
PointLoss weighted_cross_entropy(std::span<const float> logits,
                                 std::span<const std::uint8_t> labels,
                                 std::span<const double> weights, double scale,
                                 std::span<float> diff_logits);

}  // namespace nn
