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
  /// Of panels and blocks that fits() says `threads` can share; by blocks where either can be
  /// divided and to pack them all costs more.
  WeightsSplit(std::int64_t panels, std::int64_t blocks, int threads, bool blocks_cost_more)
      : panels_(panels),
        blocks_(blocks),
        threads_(threads),
        by_blocks_(blocks % threads == 0 && (blocks_cost_more || panels % threads != 0)) {}
  static bool fits(std::int64_t panels, std::int64_t blocks, int threads) {
    return panels % threads == 0 || blocks % threads == 0;
  }
  Part of(int thread) const {
    if (by_blocks_) return {0, panels_, blocks_of_part() * thread, blocks_of_part() * (thread + 1)};
    const std::int64_t panels = panels_ / threads_;
    return {panels * thread, panels * (thread + 1), 0, blocks_};
  }
  int threads() const { return threads_; }
  /// Calls run(part, thread) for all threads' parts, each on a thread of its own.
  template <class Run>
  void for_each_part(const Run& run) const {
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (int thread = 0; thread < threads_; ++thread) run(of(thread), thread);
  }
  /// As many for each thread.
  std::int64_t blocks_of_part() const { return by_blocks_ ? blocks_ / threads_ : blocks_; }

 private:
  std::int64_t panels_ = 0, blocks_ = 0;
  int threads_ = 1;
  bool by_blocks_ = false;
};

}  // namespace nn
