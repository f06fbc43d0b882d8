// The principal component of runs, for cases with obvious answers.
#include "analysis/variation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

using analysis::RunPoint;
using analysis::Variation;
using analysis::variation_of;

constexpr double kTolerance = 1e-12;

Variation of(const std::vector<RunPoint>& runs) {
  const auto variation = variation_of(runs);
  EXPECT_TRUE(variation);
  return variation.value_or(Variation());
}

TEST(Variation, IsThatOfTheEpochsWhereEpochsTakeTheSame) {
  const Variation variation = of({{10, 5}, {20, 5}, {40, 5}});
  EXPECT_NEAR(variation.share, 1.0, kTolerance);
  EXPECT_NEAR(variation.epochs, 1.0, kTolerance);
  EXPECT_NEAR(variation.epoch_s, 0.0, kTolerance);
  EXPECT_FALSE(variation.correlation) << "epoch times do not differ";
}

TEST(Variation, IsThatOfTheTimeWhereTheEpochsAreTheSame) {
  const Variation variation = of({{10, 5}, {10, 6}, {10, 8}});
  EXPECT_NEAR(variation.epochs, 0.0, kTolerance);
  EXPECT_NEAR(variation.epoch_s, 1.0, kTolerance);
}

TEST(Variation, LiesBetweenBothWhereTheyGoTogether) {
  // log10: (1, 0), (2, 1), (3, 2).
  const Variation variation = of({{10, 1}, {100, 10}, {1000, 100}});
  EXPECT_NEAR(variation.share, 1.0, kTolerance);
  EXPECT_NEAR(variation.epochs, std::sqrt(0.5), kTolerance);
  EXPECT_NEAR(variation.epoch_s, std::sqrt(0.5), kTolerance);
  EXPECT_NEAR(*variation.correlation, 1.0, kTolerance);
}

TEST(Variation, HasItsLargerPartPositive) {
  // log10: (0, 2), (1, 0), (2, -2): along (1, -2).
  const Variation variation = of({{1, 100}, {10, 1}, {100, 0.01}});
  EXPECT_NEAR(variation.epochs, -1.0 / std::sqrt(5.0), kTolerance);
  EXPECT_NEAR(variation.epoch_s, 2.0 / std::sqrt(5.0), kTolerance);
  EXPECT_NEAR(*variation.correlation, -1.0, kTolerance);
}

TEST(Variation, TellsWhatShareLiesAlongIt) {
  // log10: a cross with arms of 3 and 1: variances 9 and 1.
  const Variation variation = of({{1000, 1}, {0.001, 1}, {1, 10}, {1, 0.1}});
  EXPECT_NEAR(variation.share, 0.9, kTolerance);
  EXPECT_NEAR(variation.epochs, 1.0, kTolerance);
  EXPECT_NEAR(*variation.correlation, 0.0, kTolerance);
}

TEST(Variation, IsAbsentWhereThereIsNone) {
  EXPECT_FALSE(variation_of({}));
  EXPECT_FALSE(variation_of(std::vector<RunPoint>{{10, 5}, {20, 7}})) << "two lie on a line";
  EXPECT_FALSE(variation_of(std::vector<RunPoint>{{10, 0.1}, {10, 0.1}, {10, 0.1}}));
  const std::vector<RunPoint> cross = {{1000, 1}, {0.001, 1}, {1, 1000}, {1, 0.001}};
  EXPECT_FALSE(variation_of(cross)) << "no direction varies more than another";
}

TEST(Variation, IsAbsentForWhatHasNoLogarithm) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, infinity, std::nan("")}) {
    EXPECT_FALSE(variation_of(std::vector<RunPoint>{{10, 5}, {20, 6}, {bad, 5}})) << bad;
    EXPECT_FALSE(variation_of(std::vector<RunPoint>{{10, 5}, {20, 6}, {10, bad}})) << bad;
  }
}

}  // namespace
