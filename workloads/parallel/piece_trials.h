// Finds the pieces of gradients with which training steps are shortest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace parallel {

/// How a block of gradients is cut, and what of it goes first.
struct PieceCut {
  std::int64_t floats = 0;  ///< of a piece
  bool last_first = false;  ///< whether later pieces overtake earlier ones
  bool operator==(const PieceCut&) const = default;
};

/// Tries cuts in turns, a step of training with each: what a cut costs depends on how often ranks
/// look after messages, and on what else is on the links, so it cannot be foretold from a link's
/// rates. The first two steps, in which memory and connections are new, do not count.
class PieceTrials {
 public:
  /// cuts: one or more; the first stays unless another is clearly better.
  explicit PieceTrials(std::vector<PieceCut> cuts);
  /// The cuts to try: `usual`; pieces of a quarter, which have a cell (nn::kUpdateCell) for each of
  /// `nodes`, and of four times its size, of which each of `owners` gets two of the `floats`; and,
  /// if pieces overtake others, `usual` in order.
  static std::vector<PieceCut> cuts_around(const PieceCut& usual, std::int64_t floats, int owners,
                                           int nodes);

  bool is_over() const { return steps_ == kNewSteps + kTurns * cuts_.size(); }
  /// For the next step, while it is not over.
  const PieceCut& cut() const { return cuts_[turn()]; }
  /// Records the duration of a step with cut().
  void step_took(double seconds);
  const std::vector<PieceCut>& cuts() const { return cuts_; }
  /// Of each cut, the shortest step: others may have waited for data or an evaluation.
  const std::vector<double>& seconds() const { return seconds_; }
  /// The index of the best cut if steps take `seconds`. Another than the first must save 3 %.
  static std::size_t best(std::span<const double> seconds);

 private:
  static constexpr std::size_t kNewSteps = 2, kTurns = 4;
  std::size_t turn() const { return steps_ < kNewSteps ? 0 : (steps_ - kNewSteps) % cuts_.size(); }
  const std::vector<PieceCut> cuts_;
  std::vector<double> seconds_;
  std::size_t steps_ = 0;
};

}  // namespace parallel
