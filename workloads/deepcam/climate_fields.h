// Random weather fields: smooth on large scales and rough on small ones.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "workloads/synthetic/fourier_lines.h"

namespace deepcam {

/// Real numbers [H, W].
using Plane = std::vector<float>;

/// Draws pairs of independent Gaussian fields of standard deviation 1, periodic along both axes,
/// with the isotropic power spectrum (k^2 + 4)^-2, k in cycles per domain. Holds scratch memory:
/// each thread needs its own.
class ClimateFields {
 public:
  /// height and width: multiples of kStep of lengths that FourierLines supports.
  static constexpr std::int64_t kStep = 16;
  ClimateFields(std::int64_t height, std::int64_t width);
  /// Draws the two fields of `stream`. A wave has the same random amplitude on every grid that
  /// contains it.
  void draw(std::uint64_t stream, Plane& first, Plane& second);
  /// Standard deviations of half the difference between a field's next neighbours, along the height
  /// and along the width.
  std::pair<double, double> slope_deviations() const { return slopes_; }
  static std::int64_t scratch_bytes(std::int64_t height, std::int64_t width);

 private:
  void transform(Plane& re, Plane& im);
  void transform_rows(float* re, float* im);

  std::size_t height_, width_;
  synthetic::FourierLines down_, along_;
  std::vector<float> sizes_;  ///< amplitude of each wave, [H, W]
  std::pair<double, double> slopes_;
  std::vector<float> transposed_re_, transposed_im_;  ///< some rows, transposed
};

}  // namespace deepcam
