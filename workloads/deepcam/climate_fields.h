// Random fields of weather: smooth on large scales and rough on small ones.
// Hides the transform, and the noise behind each wave.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "workloads/synthetic/fourier_lines.h"

namespace deepcam {

/// Real numbers [H, W].
using Plane = std::vector<float>;

/// Draws pairs of independent Gaussian fields of deviation 1, periodic on both axes, with the
/// isotropic spectrum of power (k^2 + 4)^-2, k in cycles per domain. Holds scratch memory: each
/// thread needs its own.
class ClimateFields {
 public:
  /// Multiples of kStep, and as FourierLines has it.
  static constexpr std::int64_t kStep = 16;
  ClimateFields(std::int64_t height, std::int64_t width);
  /// The fields of `stream` alone; a wave has the same part in them on every grid that has it.
  void draw(std::uint64_t stream, Plane& first, Plane& second);
  /// Deviations of half the difference of a field's next neighbours, along the height and along the
  /// width.
  std::pair<double, double> slope_deviations() const { return slopes_; }
  static std::int64_t scratch_bytes(std::int64_t height, std::int64_t width);

 private:
  void transform(Plane& re, Plane& im);
  void transform_rows(float* re, float* im);

  std::size_t height_, width_;
  synthetic::FourierLines down_, along_;
  std::vector<float> sizes_;  ///< of the waves, [H, W]
  std::pair<double, double> slopes_;
  std::vector<float> turned_re_, turned_im_;  ///< some rows, element by element
};

}  // namespace deepcam
