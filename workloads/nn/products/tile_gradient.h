// The gradient of a convolution's weights in bfloat16, of images whose channels are last, in the
// CPU's matrix tiles.
// Hides how the product is cut into pieces that fit the caches, and shared out among threads.
#pragma once

#include <cstdint>

#include "workloads/kernels/kernels.h"
#include "workloads/nn/products/weights_split.h"
#include "workloads/nn/products/window_shape.h"

namespace nn {

/// d loss / d weights as WindowGradient has it, in the same order, windows of single points
/// included, with zeros where tiles have more channels than there are. Activations
/// [samples][rows][columns][channels].
/// The library's own takes up to four times as long as the forward pass, which multiplies as much:
/// it turns all of one operand first, in memory.
class TileGradient {
 public:
  /// Numbers from a point of `from` to the one beside it, and to the one below.
  struct Pitch {
    std::int64_t point = 0, row = 0;
  };
  /// Whether `threads` threads can share it about evenly, and the CPU has tiles.
  static bool fits(const WindowShape& shape, int threads, const Kernels& kernels);
  TileGradient(const WindowShape& shape, int threads, const Kernels& kernels);
  /// Points may share numbers of `from`.
  TileGradient(const WindowShape& shape, const Pitch& pitch, int threads, const Kernels& kernels);

  /// Of the memory that run() works in.
  std::int64_t scratch_bytes() const;
  /// Numbers of the gradient, zeros among them included.
  std::int64_t sums() const;
  /// diff_weights = the gradient over `samples` samples, or += with `add`.
  void run(const Bf16* from, const Bf16* to, std::int64_t samples, float* diff_weights, bool add,
           std::uint32_t* scratch) const;
  /// Points of `to`, counted through all samples.
  struct Points {
    std::int64_t first = 0, end = 0;
  };
  /// As run(), of what these give, on one thread that has all channels.
  void run_points(const Bf16* from, const Bf16* to, const Points& points, float* diff_weights,
                  std::uint32_t* scratch) const {
    run_part(split_.of(0), from, to, points, diff_weights, false, scratch);
  }

 private:
  struct Piece;
  void run_part(const WeightsSplit::Part& part, const Bf16* from, const Bf16* to,
                const Points& points, float* diff_weights, bool add, std::uint32_t* scratch) const;
  void place_rows(const Bf16* from, std::int64_t tap, const Piece& piece, const Bf16** rows) const;
  std::int64_t panels() const;  ///< of 16 channels
  std::int64_t groups() const;  ///< of panels that are multiplied together
  std::int64_t blocks() const;
  std::int64_t scratch_words() const;

  WindowShape shape_;
  Pitch pitch_;
  WeightsSplit split_;
  const Kernels* kernels_ = nullptr;
};

}  // namespace nn
