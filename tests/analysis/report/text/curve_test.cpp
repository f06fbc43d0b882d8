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

mllog::QualityTarget target_of(double value) {
  mllog::TargetPart part;
  part.value = value;
  return {"eval_accuracy", {part}};
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

TEST(Curve, MarksTheTargetAndWhatMeetsIt) {
  analysis::RunFacts facts = run_with({0.0, 1.0});
  facts.target = target_of(0.5);
  facts.at_target = 1;
  EXPECT_THAT(analysis::report::curve(facts, 23, 3),
              testing::ElementsAre("    1.0000 |          o",  //
                                   "target 0.5 |- - - - - -",  //
                                   "    0.0000 |*          ",  //
                                   "            1         2"));
}

TEST(Curve, TakesATargetThatIsNoNumberForNone) {
  analysis::RunFacts facts = run_with({0.0, 1.0});
  const auto without = analysis::report::curve(facts, 23, 3);
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    facts.target = target_of(value);
    EXPECT_EQ(analysis::report::curve(facts, 23, 3), without);
  }
}

TEST(Curve, NeedsRoomForItsPositions) {
  analysis::RunFacts facts = run_with({0.0, 1.0});
  facts.evaluations.back().position = 123456789012345.0;
  EXPECT_TRUE(analysis::report::curve(facts, 17, 5).empty());
  EXPECT_FALSE(analysis::report::curve(facts, 40, 5).empty());
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
