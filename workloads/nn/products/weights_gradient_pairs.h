// Weights gradient of a convolution, by instructions on bf16 pairs.
// Hides how the product is cut into pieces that fit the caches, and how threads share the work.
#pragma once

#include <cstdint>

#include "workloads/kernels/kernels.h"
#include "workloads/nn/products/weights_split.h"
#include "workloads/nn/products/window_shape.h"

namespace nn {

/// d loss / d weights [out, in, rows, columns] = sum over samples and pixels of `to` of to [out] *
/// from [in], at the pixel of `from` that the tap reads.
/// Activations [samples][channels / 16][pixels][16]; weights [out / 16][in / 16][rows][columns][16
/// of in][16 of out]; `in` is a multiple of 16, `out` of 64.
/// oneDNN's product takes up to twice as long as the forward pass, the longer the smaller images
/// are, and where windows have a stride.
class PairGradient {
 public:
  /// Whether `threads` threads can share the work about evenly, and the CPU has the instructions.
  static bool applies(const WindowShape& shape, int threads, const Kernels& kernels);
  PairGradient(const WindowShape& shape, int threads, const Kernels& kernels);

  /// Bytes of the memory that run() works in.
  std::int64_t scratch_bytes() const;
  /// diff_weights = the gradient over `samples` samples, or += with `add`.
  void run(const Bf16* from, const Bf16* to, std::int64_t samples, float* diff_weights, bool add,
           std::uint32_t* scratch) const;

 private:
  struct Piece;
  Piece piece_of(std::int64_t image, std::int64_t images, std::int64_t line) const;
  void run_part(const WeightsSplit::Part& part, const Bf16* from, const Bf16* to,
                std::int64_t samples, float* diff_weights, bool add, std::uint32_t* scratch) const;
  void pack_to(const Bf16* to, std::int64_t panel, const Piece& piece, std::uint32_t* pairs) const;
  void pack_from(const Bf16* from, std::int64_t block, const Piece& piece,
                 std::uint32_t* pairs) const;
  void multiply(const std::uint32_t* to, const std::uint32_t* from, const Piece& piece,
                float* diff_weights, bool add) const;
  std::int64_t panels() const;
  std::int64_t blocks() const;
  /// bf16 pairs of a packed line.
  std::int64_t line_words() const;
  /// Lines of `from` that `lines` lines of `to` read.
  std::int64_t met_lines(std::int64_t lines) const;
  /// bf16 pairs of a packed block of `to`, and of one of `from` for all columns of a window.
  std::int64_t to_words() const;
  std::int64_t from_words() const;
  std::int64_t scratch_words() const;

  WindowShape shape_;
  WeightsSplit split_;
  const Kernels* kernels_ = nullptr;
  std::int64_t most_images_ = 1, most_lines_ = 1;  ///< of a piece
};

}  // namespace nn
