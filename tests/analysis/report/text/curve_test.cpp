// Quality as a plot of characters.
#include "analysis/report/text/curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace {

analysis::RunFacts run_with(const std::vector<double>& qualities) {
  analysis::RunFacts facts;
  for (std::size_t i = 0; i < qualities.size(); ++i) {
    analysis::Evaluation one;
    one.position = static_cast<double>(i + 1);
    one.quality = qualities[i];
    facts.evaluations.push_back(one);
  }
  return facts;
}

TEST(Curve, HasTheLargestQualityFirst) {
  EXPECT_THAT(analysis::report::curve(run_with({0.0, 0.5, 1.0}), 19, 3),
              testing::ElementsAre("1.0000 |          *",  //
                                   "       |     *     ",  //
                                   "0.0000 |*          ",  //
                                   "        1         3"));
}

TEST(Curve, NeedsTwoEvaluationsAtDifferentPositions) {
  EXPECT_TRUE(analysis::report::curve(run_with({}), 60, 5).empty());
  EXPECT_TRUE(analysis::report::curve(run_with({0.5}), 60, 5).empty());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(analysis::report::curve(run_with({0.5, nan}), 60, 5).empty());
  EXPECT_FALSE(analysis::report::curve(run_with({0.5, nan, 0.5}), 60, 5).empty());
}

TEST(Curve, StaysInItsColumns) {
  for (const std::size_t columns : {20u, 30u, 78u}) {
    for (const std::string& line :
         analysis::report::curve(run_with({1e300, -1e300, 3.0, 2e-9}), columns, 5)) {
      EXPECT_LE(line.size(), columns) << line;
    }
  }
}

}  // namespace
