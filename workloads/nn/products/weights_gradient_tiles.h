// Weights gradient of a convolution in bf16, of images with channels last, in AMX tiles.
// Hides how the product is cut into pieces that fit the caches, and how threads share the work.
#pragma once

#include <cstdint>

#include "workloads/kernels/kernels.h"
#include "workloads/nn/products/weights_split.h"
#include "workloads/nn/products/window_shape.h"

namespace nn {

/// d loss / d weights as in PairGradient, in the same order, for 1x1 windows, too; channels that
/// pad tiles have zeros. Activations [samples][rows][columns][channels].
/// oneDNN's product takes up to four times as long as the forward pass, which has as many
/// multiply-adds: it first transposes all of one operand in memory.
class TileGradient {
 public:
  /// Elements from a pixel of `from` to the next one in its row, and to the one below.
  struct Pitch {
    std::int64_t point = 0, row = 0;
  };
  enum class Sharing {
    kChannels,  ///< threads divide channels; each reads all pixels
    kPixels,    ///< threads divide strips of pixels, whose sums are then added
  };
  /// Whether `threads` threads can share `samples` samples about evenly, and the CPU has tiles.
  static bool applies(const WindowShape& shape, Sharing sharing, std::int64_t samples, int threads,
                      const Kernels& kernels);
  /// Whether the sums of a strip of pixels are small compared with what is read for them.
  static bool are_sums_few(const WindowShape& shape);
  /// For up to `samples` samples at a time.
  TileGradient(const WindowShape& shape, Sharing sharing, std::int64_t samples, int threads,
               const Kernels& kernels);
  /// For one sample on one thread; neighbouring pixels of `from` may share elements.
  TileGradient(const WindowShape& shape, const Pitch& pitch, const Kernels& kernels);

  /// Bytes of the memory that run() works in.
  std::int64_t scratch_bytes() const;
  /// Elements of the gradient, zeros that pad it included.
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
