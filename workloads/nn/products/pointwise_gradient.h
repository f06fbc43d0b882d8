// The gradient of a pointwise (1x1) convolution's weights in bfloat16, or of a fully connected
// layer's.
// Hides how the product is cut into pieces that fit the caches, and shared out among threads.
#pragma once

#include <cstdint>

#include "workloads/kernels/kernels.h"
#include "workloads/nn/products/weights_split.h"

namespace nn {

/// d loss / d weights [out, in] = sum over samples and points of diff_dst [out] src [in].
/// The library's own has to bring both operands into the order of its products, and takes up to
/// twice the time of the forward pass for it.
class PointwiseGradient {
 public:
  enum class Layout {
    /// Activations [samples][channels / 16][points][16], in a multiple of 16; weights
    /// [out / 16][in / 16][16 of in][16 of out].
    kBlocked,
    /// Activations [samples][points][channels]; weights
    /// [out / 64][in / 16, rounded up][16 of in][64 of out].
    kRows,
  };
  struct Shape {
    std::int64_t points = 0, in = 0, out = 0;  ///< channels; out: a multiple of 64
    Layout layout = Layout::kBlocked;
  };
  /// Whether `threads` threads can share it evenly, and the CPU has the products.
  static bool fits(const Shape& shape, int threads, const Kernels& kernels);
  PointwiseGradient() = default;
  PointwiseGradient(const Shape& shape, int threads, const Kernels& kernels);

  /// Of the memory that run() works in.
  std::int64_t scratch_bytes() const;
  /// diff_weights = the gradient over `samples` samples, or += with `add`.
  void run(const Bf16* src, const Bf16* diff_dst, std::int64_t samples, float* diff_weights,
           bool add, std::uint32_t* scratch) const;

 private:
  void run_part(const WeightsSplit::Part& part, const Bf16* src, const Bf16* diff_dst,
                std::int64_t samples, float* diff_weights, bool add, std::uint32_t* scratch) const;
  struct Piece;
  void pack(const Bf16* activations, std::int64_t channels, const Piece& piece,
            std::uint32_t* to) const;
  GemmSums target(float* diff_weights, std::int64_t panel, std::int64_t block) const;
  bool is_rows() const { return shape_.layout == Layout::kRows; }
  std::int64_t blocks() const;
  std::int64_t pairs_of_sample() const { return (shape_.points + 1) / 2; }
  /// Pairs of points that are multiplied at a time.
  std::int64_t piece() const;
  std::int64_t scratch_words() const;

  Shape shape_;
  WeightsSplit split_;
  const Kernels* kernels_ = nullptr;
};

}  // namespace nn
