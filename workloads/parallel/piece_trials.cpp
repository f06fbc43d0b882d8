// Turns of sizes, and the choice among them.
#include "workloads/parallel/piece_trials.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "workloads/optimizer/optimizer.h"

namespace parallel {

PieceTrials::PieceTrials(std::vector<std::int64_t> sizes)
    : sizes_(std::move(sizes)), seconds_(sizes_.size(), std::numeric_limits<double>::infinity()) {}

std::vector<std::int64_t> PieceTrials::sizes_around(std::int64_t usual, std::int64_t floats,
                                                    int owners) {
  constexpr std::int64_t kStep = 4;
  std::vector<std::int64_t> sizes = {usual};
  const std::int64_t smaller = usual / kStep / nn::kUpdateCell * nn::kUpdateCell;
  if (smaller > 0) sizes.push_back(smaller);
  if (kStep * usual * owners <= floats / 2) sizes.push_back(kStep * usual);
  return sizes;
}

void PieceTrials::step_took(double seconds) {
  if (steps_ >= kNewSteps) seconds_[turn()] = std::min(seconds_[turn()], seconds);
  ++steps_;
}

std::size_t PieceTrials::best(std::span<const double> seconds) {
  constexpr double kLeastGain = 0.03;
  const auto least = std::ranges::min_element(seconds);
  if (*least > (1.0 - kLeastGain) * seconds.front()) return 0;
  return static_cast<std::size_t>(least - seconds.begin());
}

}  // namespace parallel
