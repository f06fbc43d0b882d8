// The gradient of a convolution's weights of few channels over wide images in bfloat16, whose
// channels are last, in the CPU's matrix tiles.
// Hides how rows are shared out among threads, and packed.
#pragma once

#include <cstdint>

#include "workloads/kernels/kernels.h"
#include "workloads/nn/products/window_shape.h"

namespace nn {

/// As StripGradient has it, of windows of several points. There every tap takes its own points of
/// `from` and turns them; here the few channels of `to` are turned once for all taps, and those of
/// `from` are packed where they stand, which costs less.
class RowGradient {
 public:
  /// Whether channels fill tiles, rows fill enough of them, sums are few, and `threads` threads can
  /// share the rows of so many samples about evenly; and the CPU has tiles.
  static bool fits(const WindowShape& shape, std::int64_t samples, int threads,
                   const Kernels& kernels);
  /// Of up to `samples` samples at a time.
  RowGradient(const WindowShape& shape, std::int64_t samples, int threads, const Kernels& kernels);

  /// Of the memory that run() works in.
  std::int64_t scratch_bytes() const;
  /// Numbers of the gradient.
  std::int64_t sums() const { return shape_.in * shape_.out * shape_.taps(); }
  /// diff_weights [out / 16][in / 16][taps][16 in][16 out] = the gradient over `samples` samples,
  /// or
  /// += with `add`. The same bits with any number of threads.
  void run(const Bf16* from, const Bf16* to, std::int64_t samples, float* diff_weights, bool add,
           std::uint32_t* scratch) const;

 private:
  struct Row;
  struct Work;
  std::int64_t tiles() const;          ///< of a row of points
  std::int64_t line_words() const;     ///< of a line that is packed
  std::int64_t scratch_words() const;  ///< of a thread
  void turn(const Row& row, const Bf16* to, std::uint32_t* turned) const;
  void pack(const Bf16* line, std::uint32_t* packed) const;
  std::int64_t next_line(const Row& row) const;
  const Bf16* first_ahead(const Row& row, const Bf16* from) const;
  std::int64_t lines_ahead(const Row& row) const;
  void add_row(const Row& row, const Bf16* from, const Bf16* to, Work& work, float* sums) const;

  WindowShape shape_;
  std::int64_t most_samples_;  ///< at a time
  int threads_;
  const Kernels* kernels_ = nullptr;
};

}  // namespace nn
