// Strips, and their sums.
// Hides nothing else.
#include "workloads/nn/products/strip_gradient.h"

#include <omp.h>

#include <algorithm>

#include "workloads/nn/onednn.h"
#include "workloads/nn/products/strip_sums.h"

namespace nn {
namespace {

/// As many whatever the threads are.
constexpr std::int64_t kStripPoints = 4096;

std::int64_t strips_of(std::int64_t points) { return (points + kStripPoints - 1) / kStripPoints; }

}  // namespace

bool StripGradient::fits(const WindowShape& shape, std::int64_t samples, int threads,
                         const Kernels& kernels) {
  constexpr std::int64_t kFewSums = 16;  // for so much that is read, one that is written
  if (!kernels.has_tiles()) return false;
  const std::int64_t sums = shape.in * shape.out * shape.taps() * std::int64_t{sizeof(float)};
  const std::int64_t read = kStripPoints * (shape.in + shape.out) * std::int64_t{sizeof(Bf16)};
  const std::int64_t strips = strips_of(samples * shape.rows.to * shape.columns.to);
  return sums * kFewSums <= read && WeightsSplit::is_even(strips, threads);
}

StripGradient::StripGradient(const WindowShape& shape, std::int64_t samples, int threads,
                             const Kernels& kernels)
    : points_(shape.rows.to * shape.columns.to),
      most_samples_(samples),
      threads_(threads),
      gradient_(shape, 1, kernels) {}

std::int64_t StripGradient::scratch_bytes() const {
  return threads_ * gradient_.scratch_bytes() +
         strips_of(most_samples_ * points_) * gradient_.sums() * std::int64_t{sizeof(float)};
}

void StripGradient::run(const Bf16* from, const Bf16* to, std::int64_t samples, float* diff_weights,
                        bool add, std::uint32_t* scratch) const {
  const std::int64_t points = samples * points_, strips = strips_of(points);
  const std::int64_t sums = gradient_.sums();
  const std::int64_t words = gradient_.scratch_bytes() / std::int64_t{sizeof(std::uint32_t)};
  auto* const strip_sums = reinterpret_cast<float*>(scratch + threads_ * words);
#pragma omp parallel num_threads(threads_)
  {
    std::uint32_t* const own = scratch + omp_get_thread_num() * words;
#pragma omp for schedule(static)
    for (std::int64_t strip = 0; strip < strips; ++strip) {
      const std::int64_t first = strip * kStripPoints;
      gradient_.run_points(from, to, {first, std::min(first + kStripPoints, points)},
                           strip_sums + strip * sums, own);
    }
    add_strips(strip_sums, strips, sums, diff_weights, add);
  }
}

}  // namespace nn
