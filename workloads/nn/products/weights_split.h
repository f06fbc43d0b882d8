// How threads share out a gradient of weights that is made from packed channels.
// Hides which operand's channels they divide.
#pragma once

#include <cstdint>

namespace nn {

/// Panels of 64 output channels and blocks of 16 input channels: a thread has all of one and a part
/// of the other, packs what it has, and makes all products of it.
class WeightsSplit {
 public:
  struct Part {
    std::int64_t first_panel = 0, end_panel = 0, first_block = 0, end_block = 0;
    std::int64_t blocks() const { return end_block - first_block; }
  };
  WeightsSplit() = default;
  /// Of panels and blocks that fits() says `threads` can share: of those that fall out more evenly,
  /// or else of what it costs more to pack all of.
  WeightsSplit(std::int64_t panels, std::int64_t blocks, int threads, bool blocks_cost_more)
      : panels_(panels), blocks_(blocks), threads_(threads) {
    const std::int64_t by_panels = largest(panels, threads) * blocks;
    const std::int64_t by_blocks = largest(blocks, threads) * panels;
    by_blocks_ = by_blocks < by_panels || (by_blocks == by_panels && blocks_cost_more);
  }
  /// Whether none of so many threads has more than a quarter above its share of `count`.
  static bool is_even(std::int64_t count, int threads) {
    return 4 * largest(count, threads) * threads <= 5 * count;
  }
  static bool fits(std::int64_t panels, std::int64_t blocks, int threads) {
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
  /// Of the largest part.
  std::int64_t blocks_of_part() const { return by_blocks_ ? largest(blocks_, threads_) : blocks_; }

 private:
  static std::int64_t largest(std::int64_t count, int threads) {
    return (count + threads - 1) / threads;
  }
  std::int64_t first(std::int64_t count, int thread) const { return count * thread / threads_; }

  std::int64_t panels_ = 0, blocks_ = 0;
  int threads_ = 1;
  bool by_blocks_ = false;
};

/// diff_weights [sums] = the sum over strips of strip_sums [strips][sums], or += with `add`, in the
/// order of strips. To be called by all threads of a parallel region, which share it.
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
