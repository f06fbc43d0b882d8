// Scales of axes: positions of values, and tick marks.
#include "analysis/findings/scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using analysis::is_drawable;
using analysis::Scale;
using Kind = analysis::Scale::Kind;
using testing::ElementsAre;

std::vector<std::string> texts(const Scale& scale, std::size_t most) {
  std::vector<std::string> all;
  for (const Scale::Tick& tick : scale.ticks(most)) all.push_back(tick.text);
  return all;
}

Scale around(Kind kind, const std::vector<double>& values) { return Scale::around(kind, values); }

TEST(Scale, HoldsItsValuesWithRoomOnBothSides) {
  for (const Kind kind : {Kind::kLinear, Kind::kLogarithmic}) {
    for (const std::vector<double>& values :
         {std::vector{32.0, 1024.0}, {7.0}, {1e-99, 1e99}, {1e18, 1e18 + 4096}, {0.7, 0.9, 0.8}}) {
      const Scale scale = around(kind, values);
      for (const double value : values) {
        EXPECT_GT(scale.at(value), 0.0) << value;
        EXPECT_LT(scale.at(value), 1.0) << value;
      }
    }
  }
}

TEST(Scale, LaysNumbersEvenlyOrByTheirRatios) {
  const Scale linear = around(Kind::kLinear, {10, 20});
  EXPECT_NEAR(linear.at(15), 0.5, 1e-12);
  EXPECT_NEAR(linear.at(12) - linear.at(11), linear.at(19) - linear.at(18), 1e-12);
  const Scale ratios = around(Kind::kLogarithmic, {32, 512});
  EXPECT_NEAR(ratios.at(128), 0.5, 1e-12);
  EXPECT_NEAR(ratios.at(64) - ratios.at(32), ratios.at(512) - ratios.at(256), 1e-12);
}

TEST(Scale, MarksRoundNumbersOrPowersOfTwo) {
  EXPECT_THAT(texts(around(Kind::kLinear, {17, 41}), 6), ElementsAre("20", "25", "30", "35", "40"));
  EXPECT_THAT(texts(around(Kind::kLinear, {0.70, 0.96}), 4), ElementsAre("0.7", "0.8", "0.9"));
  EXPECT_THAT(texts(around(Kind::kLinear, {-3, 3}), 4), ElementsAre("-2", "0", "2"));
  EXPECT_THAT(texts(around(Kind::kLogarithmic, {32, 512}), 9),
              ElementsAre("32", "64", "128", "256", "512"));
  EXPECT_THAT(texts(around(Kind::kLogarithmic, {32, 512}), 3), ElementsAre("32", "128", "512"));
  EXPECT_THAT(texts(around(Kind::kLogarithmic, {3, 3}), 9), ElementsAre("2", "4"));
}

TEST(Scale, MarksNoMoreThanAsked) {
  for (const std::vector<double>& values :
       {std::vector{1.0, 2.0}, {1e-99, 1e99}, {1e18, 1e18 + 4096}, {5.0}, {1e99}, {3.3, 3.4}}) {
    for (const Kind kind : {Kind::kLinear, Kind::kLogarithmic}) {
      const Scale scale = around(kind, values);
      for (std::size_t most = 0; most < 12; ++most) {
        const auto ticks = scale.ticks(most);
        EXPECT_LE(ticks.size(), most);
        for (const Scale::Tick& tick : ticks) {
          EXPECT_GE(scale.at(tick.value), -1e-6);
          EXPECT_LE(scale.at(tick.value), 1.0 + 1e-6);
        }
      }
    }
  }
}

TEST(Scale, KnowsWhatItCannotHold) {
  EXPECT_TRUE(is_drawable(-1e99));
  EXPECT_FALSE(is_drawable(1e101));
  EXPECT_FALSE(is_drawable(std::stod("nan")));
  EXPECT_FALSE(is_drawable(std::stod("-inf")));
}

}  // namespace
