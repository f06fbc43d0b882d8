// Finds the size of pieces of gradients with which training steps are shortest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace parallel {

/// Tries sizes in turns, a step of training with each: what a size costs depends on how often ranks
/// look after messages, and on what else is on the links, so it cannot be foretold from a link's
/// rates. The first two steps, in which memory and connections are new, do not count.
class PieceTrials {
 public:
  /// sizes: one or more; the first stays unless another is clearly better.
  explicit PieceTrials(std::vector<std::int64_t> sizes);
  /// The sizes to try, in floats: `usual`, then a quarter and four times as much, whole cells
  /// (nn::kUpdateCell), and so that each of `owners` gets two of the `floats` or more.
  static std::vector<std::int64_t> sizes_around(std::int64_t usual, std::int64_t floats,
                                                int owners);

  bool is_over() const { return steps_ == kNewSteps + kTurns * sizes_.size(); }
  /// For the next step, while it is not over.
  std::int64_t size() const { return sizes_[turn()]; }
  /// The step with size() took so many seconds.
  void step_took(double seconds);
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  /// Of each size, the shortest step: others may have waited for data or an evaluation.
  const std::vector<double>& seconds() const { return seconds_; }
  /// The index of the best size if steps take `seconds`. Another than the first must save 3 %.
  static std::size_t best(std::span<const double> seconds);

 private:
  static constexpr std::size_t kNewSteps = 2, kTurns = 4;
  std::size_t turn() const { return steps_ < kNewSteps ? 0 : (steps_ - kNewSteps) % sizes_.size(); }
  const std::vector<std::int64_t> sizes_;
  std::vector<double> seconds_;
  std::size_t steps_ = 0;
};

}  // namespace parallel
