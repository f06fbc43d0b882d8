// Where windows of a convolution's product meet what it reads, along an axis.
// Hides which way the product goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/nn/products/convolution_problem.h"

namespace nn {

/// Points p, p + phases ... that are written have the taps of phase p: of several phases where a
/// stride is gone back, and then `step` is 1.
struct Bf16x3Axis {
  /// A tap, and the point that the one written at i meets: i * step + offset.
  struct Tap {
    std::int64_t tap = 0, offset = 0;
  };
  std::int64_t from = 1, to = 1;  ///< points that are read and written
  std::int64_t step = 1;
  std::vector<std::vector<Tap>> phases = {{{0, 0}}};

  /// Of the forward product, or of the gradient of the source.
  static Bf16x3Axis of(const ConvolutionProblem& problem, std::size_t axis,
                       ConvolutionProduct product);
  /// As many points, each made of the one at its place.
  static Bf16x3Axis of_points(std::int64_t points) { return {points, points, 1, {{{0, 0}}}}; }
  std::int64_t phase_count() const { return static_cast<std::int64_t>(phases.size()); }
  /// Points of a phase that are written.
  std::int64_t count(std::int64_t phase) const {
    return (to - phase + phase_count() - 1) / phase_count();
  }
};

/// The quotient, rounded down, of what may be negative.
constexpr std::int64_t floored(std::int64_t value, std::int64_t by) {
  return value >= 0 ? value / by : -((by - 1 - value) / by);
}

}  // namespace nn
