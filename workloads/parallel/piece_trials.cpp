// Turns of cuts, and the choice among them.
#include "workloads/parallel/piece_trials.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "workloads/optimizer/optimizer.h"

namespace parallel {

PieceTrials::PieceTrials(std::vector<PieceCut> cuts)
    : cuts_(std::move(cuts)), seconds_(cuts_.size(), std::numeric_limits<double>::infinity()) {}

std::vector<PieceCut> PieceTrials::cuts_around(const PieceCut& usual, std::int64_t floats,
                                               int owners, int nodes) {
  constexpr std::int64_t kStep = 4;
  std::vector<PieceCut> cuts = {usual};
  const std::int64_t smaller = usual.floats / kStep / nn::kUpdateCell * nn::kUpdateCell;
  if (smaller >= nodes * nn::kUpdateCell) cuts.push_back({smaller, usual.last_first});
  const std::int64_t larger = kStep * usual.floats;
  if (larger * (2 * owners - 1) < floats) cuts.push_back({larger, usual.last_first});
  if (usual.last_first) cuts.push_back({usual.floats, false});
  return cuts;
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
