// Tests of the choice among sizes of pieces.
#include "workloads/parallel/piece_trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "workloads/optimizer/optimizer.h"

namespace parallel {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kCell = nn::kUpdateCell;

TEST(PieceTrials, TriesLessAndMoreWhereThatIsPossible) {
  EXPECT_THAT(PieceTrials::sizes_around(16 * kCell, 1000 * kCell, 1),
              ElementsAre(16 * kCell, 4 * kCell, 64 * kCell));
  EXPECT_THAT(PieceTrials::sizes_around(6 * kCell, 48 * kCell, 1),
              ElementsAre(6 * kCell, kCell, 24 * kCell));
  EXPECT_THAT(PieceTrials::sizes_around(6 * kCell, 48 * kCell, 2), ElementsAre(6 * kCell, kCell))
      << "each has two pieces or more";
  EXPECT_THAT(PieceTrials::sizes_around(3 * kCell, 10 * kCell, 1), ElementsAre(3 * kCell));
}

/// The fourth step of each, the shortest, counts; the first two of all do not.
TEST(PieceTrials, TakesTheShortestStepOfEachInTurns) {
  PieceTrials trials({10, 20, 30});
  std::vector<std::int64_t> tried;
  for (int step = 0; !trials.is_over(); ++step) {
    tried.push_back(trials.size());
    trials.step_took(step < 2 ? 0.1 : static_cast<double>(trials.size()) + 20.0 - step);
  }
  EXPECT_THAT(tried, ElementsAre(10, 10, 10, 20, 30, 10, 20, 30, 10, 20, 30, 10, 20, 30));
  EXPECT_THAT(trials.seconds(), ElementsAre(19.0, 28.0, 37.0));
}

TEST(PieceTrials, KeepsTheFirstUnlessAnotherIsClearlyBetter) {
  EXPECT_EQ(PieceTrials::best(std::array{1.0, 0.98, 1.5}), 0U);
  EXPECT_EQ(PieceTrials::best(std::array{1.0, 0.96, 0.9}), 2U);
  EXPECT_EQ(PieceTrials::best(std::array{1.0}), 0U);
}

}  // namespace
}  // namespace parallel
