// The gradient of a convolution's few weights over many points, in bfloat16, of images whose
// channels are last, in the CPU's matrix tiles.
// Hides the strips of points that threads share.
#pragma once

#include <cstdint>

#include "workloads/nn/products/tile_gradient.h"

namespace nn {

/// As TileGradient has it. There threads share channels, and each goes over all points of one
/// operand; here they share points, and what strips of them give is added up.
class StripGradient {
 public:
  /// Whether strips of so many samples are enough for `threads` threads, and their sums few beside
  /// what is read for them; and the CPU has tiles.
  static bool fits(const WindowShape& shape, std::int64_t samples, int threads,
                   const Kernels& kernels);
  /// Of up to `samples` samples at a time.
  StripGradient(const WindowShape& shape, std::int64_t samples, int threads,
                const Kernels& kernels);

  /// Of the memory that run() works in.
  std::int64_t scratch_bytes() const;
  /// diff_weights = the gradient over `samples` samples, or += with `add`. The same bits with any
  /// number of threads.
  void run(const Bf16* from, const Bf16* to, std::int64_t samples, float* diff_weights, bool add,
           std::uint32_t* scratch) const;

 private:
  std::int64_t points_;        ///< of a sample
  std::int64_t most_samples_;  ///< at a time
  int threads_;
  TileGradient gradient_;  ///< of a strip
};

}  // namespace nn
