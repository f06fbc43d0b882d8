// The gradient of a convolution's weights in bfloat16, of images whose channels are last, in the
// CPU's matrix tiles.
// Hides how the product is cut into pieces that fit the caches, and shared out among threads.
#pragma once

#include <cstdint>

#include "workloads/nn/kernels.h"
#include "workloads/nn/weights_split.h"
#include "workloads/nn/window_gradient.h"

namespace nn {

/// d loss / d weights as WindowGradient has it, windows of single points included.
/// The library's own takes up to four times as long as the forward pass, which multiplies as much:
/// it turns all of one operand first, in memory.
class TileGradient {
 public:
  using Axis = WindowGradient::Axis;
  /// Activations [samples][rows][columns][channels]; weights
  /// [out / 16][in / 16][rows][columns][16 of in][16 of out].
  struct Shape {
    Axis rows, columns;
    std::int64_t in = 0, out = 0;  ///< channels: multiples of 16 and of 64
  };
  /// Whether `threads` threads can share it evenly, and the CPU has tiles.
  static bool fits(const Shape& shape, int threads, const Kernels& kernels);
  TileGradient(const Shape& shape, int threads, const Kernels& kernels);

  /// Of the memory that run() works in.
  std::int64_t scratch_bytes() const;
  /// diff_weights = the gradient over `samples` samples, or += with `add`.
  void run(const Bf16* from, const Bf16* to, std::int64_t samples, float* diff_weights, bool add,
           std::uint32_t* scratch) const;

 private:
  struct Piece;
  void run_part(const WeightsSplit::Part& part, const Bf16* from, const Bf16* to,
                std::int64_t samples, float* diff_weights, bool add, std::uint32_t* scratch) const;
  void place_rows(const Bf16* from, std::int64_t tap, const Piece& piece, const Bf16** rows) const;
  std::int64_t panels() const;
  std::int64_t blocks() const;
  std::int64_t taps() const { return shape_.rows.kernel * shape_.columns.kernel; }
  std::int64_t scratch_words() const;

  Shape shape_;
  int threads_ = 1;
  WeightsSplit split_;
  const Kernels* kernels_ = nullptr;
};

}  // namespace nn
