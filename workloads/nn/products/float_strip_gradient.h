// The gradient of a convolution's few weights over many points on floats, of single points with a
// stride.
// Hides the strips of rows that threads share.
#pragma once

#include <cstdint>

#include "workloads/kernels/kernels.h"
#include "workloads/nn/products/window_shape.h"

namespace nn {

/// The library's own first copies the points that are seen to where they are neighbours, in memory.
class FloatStripGradient {
 public:
  /// Whether it is such a convolution of few weights, strips of so many samples are enough for
  /// `threads` threads, and the CPU has avx512_bf16: others were not measured.
  static bool fits(const WindowShape& shape, std::int64_t samples, int threads,
                   const Kernels& kernels);
  /// Of up to `samples` samples at a time.
  FloatStripGradient(const WindowShape& shape, std::int64_t samples, int threads,
                     const Kernels& kernels);

  /// Of the memory that run() works in.
  std::int64_t scratch_bytes() const;
  /// diff_weights [out / 16][in / 16][16 in][16 out] = the gradient over `samples` samples, or +=
  /// with `add`, of `from` [samples][in / 16][rows][columns][16] and `to` likewise, with zeros
  /// where the last blocks have more channels than there are. The same bits with any number of
  /// threads.
  void run(const float* from, const float* to, std::int64_t samples, float* diff_weights, bool add,
           std::uint32_t* scratch) const;

 private:
  struct Piece;
  std::int64_t sums() const;
  std::int64_t strips_of(std::int64_t samples) const;
  PointKernels::Points from_points(const float* from, const Piece& piece) const;
  PointKernels::Points to_points(const float* to, const Piece& piece) const;
  void run_strip(const float* from, const float* to, std::int64_t first_row, std::int64_t end_row,
                 float* sums) const;

  WindowShape shape_;
  std::int64_t most_samples_;  ///< at a time
  int threads_;
  const Kernels* kernels_ = nullptr;
};

}  // namespace nn
