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

TEST(PieceTrials, TriesLessAndMoreWhereThatIsPossibleAndInOrder) {
  EXPECT_THAT(PieceTrials::cuts_around({16 * kCell, false}, 1000 * kCell, 1, 4),
              ElementsAre(PieceCut{16 * kCell, false}, PieceCut{4 * kCell, false},
                          PieceCut{64 * kCell, false}));
  EXPECT_THAT(PieceTrials::cuts_around({16 * kCell, false}, 1000 * kCell, 1, 5),
              ElementsAre(PieceCut{16 * kCell, false}, PieceCut{64 * kCell, false}))
      << "a node has a cell of each piece or more";
  EXPECT_THAT(PieceTrials::cuts_around({13 * kCell, true}, 100 * kCell, 1, 2),
              ElementsAre(PieceCut{13 * kCell, true}, PieceCut{3 * kCell, true},
                          PieceCut{52 * kCell, true}, PieceCut{13 * kCell, false}));
  EXPECT_THAT(PieceTrials::cuts_around({13 * kCell, false}, 156 * kCell, 2, 4),
              ElementsAre(PieceCut{13 * kCell, false}))
      << "each owner has two pieces or more";
  EXPECT_THAT(PieceTrials::cuts_around({13 * kCell, false}, 157 * kCell, 2, 4),
              ElementsAre(PieceCut{13 * kCell, false}, PieceCut{52 * kCell, false}));
}

/// The fourth step of each, the shortest, counts; the first two of all do not.
TEST(PieceTrials, TakesTheShortestStepOfEachInTurns) {
  PieceTrials trials({{10, true}, {20, true}, {10, false}});
  std::vector<std::int64_t> tried;
  for (int step = 0; !trials.is_over(); ++step) {
    const PieceCut& cut = trials.cut();
    tried.push_back(cut.last_first ? cut.floats : -cut.floats);
    trials.step_took(step < 2 ? 0.1 : static_cast<double>(tried.back()) + 40.0 - step);
  }
  EXPECT_THAT(tried, ElementsAre(10, 10, 10, 20, -10, 10, 20, -10, 10, 20, -10, 10, 20, -10));
  EXPECT_THAT(trials.seconds(), ElementsAre(39.0, 48.0, 17.0));
}

TEST(PieceTrials, KeepsTheFirstUnlessAnotherIsClearlyBetter) {
  EXPECT_EQ(PieceTrials::best(std::array{1.0, 0.98, 1.5}), 0U);
  EXPECT_EQ(PieceTrials::best(std::array{1.0, 0.96, 0.9}), 2U);
  EXPECT_EQ(PieceTrials::best(std::array{1.0}), 0U);
}

}  // namespace
}  // namespace parallel
