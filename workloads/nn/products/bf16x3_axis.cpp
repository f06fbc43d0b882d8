// Taps grouped by phase.
#include "workloads/nn/products/bf16x3_axis.h"

namespace nn {

Bf16x3Axis Bf16x3Axis::of(const ConvolutionProblem& problem, std::size_t axis,
                          ConvolutionProduct product) {
  const bool is_reverse = (product == ConvolutionProduct::kForward) == problem.is_transposed();
  const Operation& operation = problem.operation();
  const std::int64_t src = problem.image_of(Side::kSource).spatial[axis];
  const std::int64_t dst = operation.dst.spatial[axis];
  const bool is_large_read = is_reverse == problem.is_transposed();
  const std::int64_t stride = operation.stride[axis], padding = operation.padding.begin[axis];
  Bf16x3Axis made;
  made.from = is_large_read ? src : dst;
  made.to = is_large_read ? dst : src;
  made.step = is_reverse ? 1 : stride;
  made.phases.assign(static_cast<std::size_t>(is_reverse ? stride : 1), {});
  for (std::int64_t tap = 0; tap < operation.kernel[axis]; ++tap) {
    if (!is_reverse) {
      made.phases[0].push_back({tap, tap - padding});
      continue;
    }
    const std::int64_t quotient = floored(tap - padding, stride);
    const std::int64_t phase = tap - padding - quotient * stride;
    made.phases[static_cast<std::size_t>(phase)].push_back({tap, -quotient});
  }
  return made;
}

}  // namespace nn
