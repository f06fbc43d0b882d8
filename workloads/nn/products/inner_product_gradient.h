// Weights gradient of a fully connected layer, by instructions on bf16 pairs.
// Hides how the product is cut into pieces that fit the caches, and how threads share the work.
#pragma once

#include <cstdint>

#include "workloads/kernels/kernels.h"
#include "workloads/nn/products/weights_split.h"

namespace nn {

/// diff_weights [out / 64][in / 16, rounded up][16 of in][64 of out] = the sum over rows of
/// diff_dst [rows][out] times src [rows][in]. oneDNN's product has to reorder both operands first,
/// and takes up to twice as long as the forward pass for that reason.
class InnerProductGradient {
 public:
  struct Shape {
    std::int64_t rows = 0, in = 0, out = 0;  ///< out: a multiple of 64
  };
  /// Whether `threads` threads can share the work evenly, and the CPU has the instructions.
  static bool applies(const Shape& shape, int threads, const Kernels& kernels);
  InnerProductGradient(const Shape& shape, int threads, const Kernels& kernels);

  /// Bytes of the memory that run() works in.
  std::int64_t scratch_bytes() const;
  /// diff_weights = the gradient, or += with `add`.
  void run(const Bf16* src, const Bf16* diff_dst, float* diff_weights, bool add,
           std::uint32_t* scratch) const;

 private:
  void run_part(const WeightsSplit::Part& part, const Bf16* src, const Bf16* diff_dst,
                float* diff_weights, bool add, std::uint32_t* scratch) const;
  /// `count` blocks of 16 channels, from `block` on.
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
