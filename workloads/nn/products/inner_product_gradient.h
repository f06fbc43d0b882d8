// The gradient of a fully connected layer's weights by products of bf16 pairs.
// Hides how the product is cut into pieces that fit the caches, and shared out among threads.
#pragma once

#include <cstdint>

#include "workloads/kernels/kernels.h"
#include "workloads/nn/products/weights_split.h"

namespace nn {

/// diff_weights [out / 64][in / 16, rounded up][16 of in][64 of out] = the sum over rows of
/// diff_dst [rows][out] times src [rows][in]. The library's own has to bring both operands into the
/// order of its products, and takes up to twice the time of the forward pass for it.
class InnerProductGradient {
 public:
  struct Shape {
    std::int64_t rows = 0, in = 0, out = 0;  ///< out: a multiple of 64
  };
  /// Whether `threads` threads can share it evenly, and the CPU has the products.
  static bool fits(const Shape& shape, int threads, const Kernels& kernels);
  InnerProductGradient(const Shape& shape, int threads, const Kernels& kernels);

  /// Of the memory that run() works in.
  std::int64_t scratch_bytes() const;
  /// diff_weights = the gradient, or += with `add`.
  void run(const Bf16* src, const Bf16* diff_dst, float* diff_weights, bool add,
           std::uint32_t* scratch) const;

 private:
  void run_part(const WeightsSplit::Part& part, const Bf16* src, const Bf16* diff_dst,
                float* diff_weights, bool add, std::uint32_t* scratch) const;
  /// Blocks of 16 channels of the piece of rows that begins with pair `first`.
  struct Blocks {
    std::int64_t block = 0, count = 0;
  };
  void pack(const Bf16* activations, std::int64_t channels, const Blocks& blocks,
            std::int64_t first, std::uint32_t* to) const;
  std::int64_t pairs() const { return (shape_.rows + 1) / 2; }
  /// Pairs of rows that are multiplied at a time.
  std::int64_t piece() const;
  std::int64_t scratch_words() const;

  Shape shape_;
  WeightsSplit split_;
  const Kernels* kernels_ = nullptr;
};

}  // namespace nn
