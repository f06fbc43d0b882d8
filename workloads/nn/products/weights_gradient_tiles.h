// The gradient of a convolution's weights in bf16, of images whose channels are last, in matrix
// tiles.
// Hides how the product is cut into pieces that fit the caches, and shared out among threads.
#pragma once

#include <cstdint>

#include "workloads/kernels/kernels.h"
#include "workloads/nn/products/weights_split.h"
#include "workloads/nn/products/window_shape.h"

namespace nn {

/// d loss / d weights as PairGradient has it, in the same order, windows of single points
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
  enum class Sharing {
    kChannels,  ///< each thread goes over all pixels of one operand
    kPixels,    ///< threads go over strips of pixels, whose sums are added up
  };
  /// Whether `threads` threads can share so many samples about evenly, and the CPU has tiles.
  static bool fits(const WindowShape& shape, Sharing sharing, std::int64_t samples, int threads,
                   const Kernels& kernels);
  /// Whether the sums of a strip of pixels are few beside what is read for them.
  static bool are_sums_few(const WindowShape& shape);
  /// Of up to `samples` samples at a time.
  TileGradient(const WindowShape& shape, Sharing sharing, std::int64_t samples, int threads,
               const Kernels& kernels);
  /// On one thread; pixels may share elements of `from`.
  TileGradient(const WindowShape& shape, const Pitch& pitch, const Kernels& kernels);

  /// Of the memory that run() works in.
  std::int64_t scratch_bytes() const;
  /// Numbers of the gradient, zeros among them included.
  std::int64_t sums() const;
  /// diff_weights = the gradient over `samples` samples, or += with `add`. The same bits with any
  /// number of threads.
  void run(const Bf16* from, const Bf16* to, std::int64_t samples, float* diff_weights, bool add,
           std::uint32_t* scratch) const;

 private:
  /// Pixels of `to`, counted through all samples.
  struct Points {
    std::int64_t first = 0, end = 0;
  };
  void run_strips(const Bf16* from, const Bf16* to, std::int64_t points, float* diff_weights,
                  bool add, std::uint32_t* scratch) const;
  struct Piece;
  void run_part(const WeightsSplit::Part& part, const Bf16* from, const Bf16* to,
                const Points& points, float* diff_weights, bool add, std::uint32_t* scratch) const;
  void place_rows(const Bf16* from, std::int64_t tap, const Piece& piece, const Bf16** rows) const;
  std::int64_t panels() const;  ///< of 16 channels
  std::int64_t groups() const;  ///< of panels that are multiplied together
  std::int64_t blocks() const;
  std::int64_t scratch_words() const;  ///< of a thread

  WindowShape shape_;
  Pitch pitch_;
  Sharing sharing_ = Sharing::kChannels;
  std::int64_t most_samples_ = 1;  ///< at a time
  int threads_ = 1;
  WeightsSplit split_;
  const Kernels* kernels_ = nullptr;
};

}  // namespace nn
