// The pixels that the windows of a convolution's product read, along one axis.
// Hides whether the product runs forward or backward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runner/base/ceil_div.h"
#include "workloads/nn/products/convolution_problem.h"

namespace nn {

/// Written pixels p, p + phase_count(), ... have the taps of phase p. There are several phases only
/// if a stride is reversed; then `step` is 1.
struct Bf16x3Axis {
  /// A tap: the i-th written pixel of the phase reads pixel i * step + offset.
  struct Tap {
    std::int64_t tap = 0, offset = 0;
  };
  std::int64_t from = 1, to = 1;  ///< pixels read and written
  std::int64_t step = 1;
  std::vector<std::vector<Tap>> phases = {{{0, 0}}};

  /// For the forward product, or for the source gradient.
  static Bf16x3Axis of(const ConvolutionProblem& problem, std::size_t axis,
                       ConvolutionProduct product);
  /// `points` pixels, each computed from the one at its place.
  static Bf16x3Axis of_points(std::int64_t points) { return {points, points, 1, {{{0, 0}}}}; }
  std::int64_t phase_count() const { return static_cast<std::int64_t>(phases.size()); }
  /// Written pixels of a phase.
  std::int64_t count(std::int64_t phase) const { return base::ceil_div(to - phase, phase_count()); }
};

/// value / by, rounded down; `value` may be negative.
constexpr std::int64_t floored(std::int64_t value, std::int64_t by) {
  return value >= 0 ? value / by : -((by - 1 - value) / by);
}

}  // namespace nn
