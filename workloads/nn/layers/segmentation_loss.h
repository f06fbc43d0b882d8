// Cross entropy of images' points, weighted by class, and how well classes are found.
// Hides the stabilised logarithms and the order of sums.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nn {

/// Which class the point of an image, logits [classes, points] plain, is found to be of: that of
/// its largest logit, the first of equals; 0 where its first logit is no number.
std::size_t found_class(std::span<const float> logits, std::size_t classes, std::size_t point);

/// Points of an image by whether they are of a class and whether they were found to be.
struct ClassPoints {
  std::int64_t both = 0;   ///< found where they are
  std::int64_t found = 0;  ///< found, rightly or not
  std::int64_t there = 0;
};

struct PointLoss {
  double loss = 0.0;  ///< sum over points, each times its class's weight
  std::vector<ClassPoints> classes;
  /// Mean over the classes of both / (found + there - both), 1 for a class that is neither there
  /// nor found. Source: mlcommons/hpc, deepcam/src/deepCam/utils/metric.py.
  double mean_iou() const;
  /// Of both images, or blocks of points, together; of as many classes.
  PointLoss& operator+=(const PointLoss& other);
};

/// One image: logits [classes, points] plain; labels [points] below classes; classes found as
/// found_class() has it. diff_logits, when not empty, receives scale times the gradient of the
/// loss. Same bits on any number of threads. Throws DataError for another label, ShapeError for
/// spans that do not match.
PointLoss weighted_cross_entropy(std::span<const float> logits,
                                 std::span<const std::uint8_t> labels,
                                 std::span<const double> weights, double scale,
                                 std::span<float> diff_logits);

}  // namespace nn
