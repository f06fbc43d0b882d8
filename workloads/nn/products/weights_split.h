// How threads share a weights gradient that is computed from packed channels.
// Hides which operand's channels they divide.
#pragma once

#include <cstdint>

#include "runner/base/ceil_div.h"

namespace nn {

/// Divides panels of output channels (64 or 16, as the product has them) or blocks of 16 input
/// channels among threads: a thread has all of one kind and a part of the other, packs its
/// channels, and computes all their products.
class WeightsSplit {
 public:
  struct Part {
    std::int64_t first_panel = 0, end_panel = 0, first_block = 0, end_block = 0;
    std::int64_t blocks() const { return end_block - first_block; }
  };
  WeightsSplit() = default;
  /// REQUIRES: applies(). Divides the kind that leaves the smaller largest share; in a tie, divides
  /// blocks if `blocks_cost_more` to pack, as each thread packs all of the other kind.
  WeightsSplit(std::int64_t panels, std::int64_t blocks, int threads, bool blocks_cost_more)
      : panels_(panels), blocks_(blocks), threads_(threads) {
    const std::int64_t by_panels = largest(panels, threads) * blocks;
    const std::int64_t by_blocks = largest(blocks, threads) * panels;
    by_blocks_ = by_blocks < by_panels || (by_blocks == by_panels && blocks_cost_more);
  }
  /// Whether no thread's share of `count` exceeds the average by more than a quarter.
  static bool is_even(std::int64_t count, int threads) {
    return 4 * largest(count, threads) * threads <= 5 * count;
  }
  static bool applies(std::int64_t panels, std::int64_t blocks, int threads) {
    return is_even(panels, threads) || is_even(blocks, threads);
  }
  Part of(int thread) const {
    if (by_blocks_) return {0, panels_, first(blocks_, thread), first(blocks_, thread + 1)};
    return {first(panels_, thread), first(panels_, thread + 1), 0, blocks_};
  }
  int threads() const { return threads_; }
  /// Calls run(part, thread) for all threads' parts, each on a thread of its own.
  template <class Run>
  void for_each_part(const Run& run) const {
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (int thread = 0; thread < threads_; ++thread) run(of(thread), thread);
  }
  /// Blocks of the largest part.
  std::int64_t blocks_of_part() const { return by_blocks_ ? largest(blocks_, threads_) : blocks_; }

 private:
  static std::int64_t largest(std::int64_t count, int threads) {
    return base::ceil_div(count, threads);
  }
  std::int64_t first(std::int64_t count, int thread) const { return count * thread / threads_; }

  std::int64_t panels_ = 0, blocks_ = 0;
  int threads_ = 1;
  bool by_blocks_ = false;
};

/// diff_weights [sums] = the sum of strip_sums [strips][sums] over strips, or += with `add`, in the
/// order of strips. All threads of a parallel region must call it; they share the work.
inline void add_strips(const float* strip_sums, std::int64_t strips, std::int64_t sums,
                       float* diff_weights, bool add) {
#pragma omp for schedule(static)
  for (std::int64_t i = 0; i < sums; ++i) {
    double sum = add ? static_cast<double>(diff_weights[i]) : 0.0;
    for (std::int64_t strip = 0; strip < strips; ++strip) {
      sum += static_cast<double>(strip_sums[strip * sums + i]);
    }
    diff_weights[i] = static_cast<float>(sum);
  }
}

}  // namespace nn
