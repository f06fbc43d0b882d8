// Permutation tests, adjustments and bootstrap, compared with answers worked out by hand.
#include "analysis/comparison/significance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runner/base/random.h"

namespace {

using namespace analysis::comparison;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::Optional;

TEST(ExchangePValue, CountsTheWaysThatAreAsFar) {
  // Of the 6 ways to choose 2 of {1, 2, 3, 4}: {1, 2} and {3, 4} are as far apart.
  EXPECT_DOUBLE_EQ(permutation_p_value(std::vector{1.0, 2.0}, std::vector{3.0, 4.0}, 1), 2.0 / 6.0);
  // {1, 3} and {2, 4} have a distance of 1; {1, 2} and {3, 4} have 2.
  EXPECT_DOUBLE_EQ(permutation_p_value(std::vector{1.0, 3.0}, std::vector{2.0, 4.0}, 1), 4.0 / 6.0);
  // Of the 4 ways to choose one value, only {9} is as far apart.
  EXPECT_DOUBLE_EQ(permutation_p_value(std::vector{9.0}, std::vector{1.0, 2.0, 3.0}, 1), 1.0 / 4.0);
}

TEST(ExchangePValue, IsOneForEqualValuesWhateverTheirRounding) {
  const std::vector<double> same(7, 0.1);
  EXPECT_EQ(permutation_p_value(same, same, 1), 1.0);
  EXPECT_EQ(permutation_p_value(std::vector(3, 1e300), std::vector(5, 1e300), 1), 1.0);
}

TEST(ExchangePValues, HoldEachFigureAgainstTheFarthestOfAll) {
  // Over the 6 exchanges of {1, 2 | 3, 4} the first figure is 2, 1, 0, 0, 1, 2 apart; the second,
  // {0, 1 | 1, 0}, is 0, 0, 1, 1, 0, 0: in standard deviations 1.79, 0.89 and 0, and 2 and 0.
  const auto p_values = permutation_p_values({{1.0, 2.0}, {0.0, 1.0}, {5.0, 5.0}},
                                             {{3.0, 4.0}, {1.0, 0.0}, {5.0, 5.0}}, 1);
  EXPECT_THAT(p_values,
              ElementsAre(Optional(DoubleEq(4.0 / 6.0)), Optional(DoubleEq(1.0)), std::nullopt));
  const auto apart = permutation_p_values({{1.0, 1.1, 1.2, 1.3}, {1.0, 2.0, 3.0, 4.0}},
                                          {{2.0, 2.1, 2.2, 2.3}, {1.5, 2.5, 3.5, 4.5}}, 1);
  EXPECT_DOUBLE_EQ(apart[0].value(), 2.0 / 70.0);  // no exchange takes either figure farther
  EXPECT_GT(apart[1].value(), 0.5);
}

TEST(ExchangePValues, AreAbsentForWhatHasNoFiniteValues) {
  EXPECT_THAT(permutation_p_values({{std::nan(""), 1.0}, {1.0, 2.0}}, {{1.0, 1.0}, {3.0, 4.0}}, 1),
              ElementsAre(std::nullopt, Optional(DoubleEq(2.0 / 6.0))));
}

TEST(ExchangePValue, IsTheSameForTheSameSeedWhereItDraws) {
  base::RandomStream random(1, base::Purpose::kGenerate, 0, 0);
  std::vector<double> one(20), other(20);
  for (double& value : one) value = random.normal();
  for (double& value : other) value = random.normal() + 0.5;
  const double p = permutation_p_value(one, other, 7);
  EXPECT_EQ(permutation_p_value(one, other, 7), p);
  EXPECT_NEAR(permutation_p_value(one, other, 8), p, 0.02);
  EXPECT_NEAR(permutation_p_value(other, one, 7), p, 0.02);
}

TEST(LeastPValue, IsWhatTheFarthestListsHave) {
  for (const auto& [first, second] : std::vector<std::pair<std::size_t, std::size_t>>{
           {1, 1}, {1, 5}, {2, 3}, {3, 3}, {3, 6}, {4, 4}, {5, 5}, {7, 9}}) {
    std::vector<double> low(first), high(second);
    for (std::size_t i = 0; i < first; ++i) low[i] = static_cast<double>(i) * 1e-3;
    for (std::size_t i = 0; i < second; ++i) high[i] = 1.0 + static_cast<double>(i) * 1e-3;
    EXPECT_DOUBLE_EQ(least_p_value(first, second), permutation_p_value(low, high, 1))
        << first << " and " << second;
  }
  EXPECT_LT(least_p_value(4, 4), kLevel);
  EXPECT_LT(least_p_value(3, 5), kLevel);
  EXPECT_GE(least_p_value(3, 3), kLevel);
  EXPECT_GE(least_p_value(2, 5), kLevel);
}

TEST(Holm, MultipliesTheSmallestByTheMostAndNeverTurnsTheOrder) {
  EXPECT_THAT(holm_adjusted({0.01, 0.04, 0.03, 0.005}),
              ElementsAre(Optional(DoubleEq(0.03)), Optional(DoubleEq(0.06)),
                          Optional(DoubleEq(0.06)), Optional(DoubleEq(0.02))));
  EXPECT_THAT(holm_adjusted({0.9, std::nullopt, 0.8}),
              ElementsAre(Optional(1.0), std::nullopt, Optional(1.0)));
  EXPECT_TRUE(holm_adjusted({}).empty());
}

TEST(Bootstrap, HoldsTheQuantilesOfDrawnFigures) {
  const std::vector<double> first(400, 2.0);
  std::vector<double> second(400);
  for (std::size_t i = 0; i < 400; ++i) second[i] = static_cast<double>(i % 2);
  const auto intervals = bootstrap_intervals(
      400, 400, 2, 1, 5000, [&](Drawn one, Drawn other, std::span<double> figures) {
        figures[0] = first[one[0]];
        double sum = 0.0;
        for (const std::size_t index : other) sum += second[index];
        figures[1] = sum / 400.0;
      });
  EXPECT_EQ(intervals[0].low, 2.0);
  EXPECT_EQ(intervals[0].high, 2.0);
  // The mean of 400 fair coins: 0.5 +- 1.96 * 0.025.
  EXPECT_NEAR(intervals[1].low, 0.451, 0.004);
  EXPECT_NEAR(intervals[1].high, 0.549, 0.004);
}

TEST(Bootstrap, LeavesOutWhatIsNoNumber) {
  const auto intervals =
      bootstrap_intervals(4, 4, 2, 1, 100, [](Drawn one, Drawn, std::span<double> figures) {
        figures[0] = std::nan("");
        figures[1] = one[0] == 0 ? std::nan("") : 3.0;
      });
  EXPECT_TRUE(std::isnan(intervals[0].low));
  EXPECT_EQ(intervals[1].low, 3.0);
}

}  // namespace
