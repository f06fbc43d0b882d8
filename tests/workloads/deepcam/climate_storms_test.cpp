// Tests of storms: how they are drawn, and their effect on calm weather.
#include "workloads/deepcam/climate_storms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "workloads/deepcam/climate_grid.h"

namespace deepcam {
namespace {

constexpr ClimateGrid kGrid{192, 288};

dataset::ClimateSample calm() {
  dataset::ClimateSample sample{kGrid.height, kGrid.width, dataset::kClimateChannels, {}, {}};
  sample.labels.resize(static_cast<std::size_t>(kGrid.height * kGrid.width));
  sample.values.resize(sample.labels.size() * dataset::kClimateChannels);
  return sample;
}

TropicalCyclone cyclone_at(double latitude, double longitude) {
  return {latitude, longitude, 5000.0, 1.3, 0.5};
}

AtmosphericRiver river_from(double longitude) {
  return {1.0, 20.0, 50.0, longitude, 50.0, 5.0, 2.3, 20.0};
}

dataset::ClimateSample with(const Storms& storms) {
  dataset::ClimateSample sample = calm();
  plant(storms, sample);
  return sample;
}

/// The pixel nearest to a location.
std::size_t point_at(double latitude, double longitude) {
  const std::int64_t row = std::lround((latitude + 90.0) / 180.0 * (kGrid.height - 1));
  const std::int64_t column = std::lround(longitude / 360.0 * kGrid.width);
  return kGrid.point(row, (column + kGrid.width) % kGrid.width);
}

std::int64_t labelled(const dataset::ClimateSample& sample, Label label) {
  return std::count(sample.labels.begin(), sample.labels.end(), label);
}

TEST(DrawStorms, DrawsPoissonNumbersInTheirRanges) {
  constexpr int kDraws = 4000;
  double rivers = 0.0, cyclones = 0.0, rivers_squared = 0.0, cyclones_squared = 0.0, south = 0.0;
  base::RandomStream random(1, base::Purpose::kGenerate, 0, 0);
  for (int i = 0; i < kDraws; ++i) {
    const Storms storms = draw_storms(random);
    const auto of_rivers = static_cast<double>(storms.rivers.size());
    const auto of_cyclones = static_cast<double>(storms.cyclones.size());
    rivers += of_rivers / kDraws;
    cyclones += of_cyclones / kDraws;
    rivers_squared += of_rivers * of_rivers / kDraws;
    cyclones_squared += of_cyclones * of_cyclones / kDraws;
    const auto within = [](double value, double low, double high) {
      EXPECT_GE(value, low);
      EXPECT_LT(value, high);
    };
    for (const AtmosphericRiver& river : storms.rivers) {
      EXPECT_EQ(std::abs(river.hemisphere), 1.0);
      within(river.first_latitude, 15.0, 25.0);
      within(river.last_latitude, 42.0, 58.0);
      within(river.longitude, 0.0, 360.0);
      within(river.span, 35.0, 75.0);
      within(river.bow, -8.0, 8.0);
      within(river.half_width, 1.6, 3.0);
      within(river.moisture, 14.0, 26.0);
    }
    for (const TropicalCyclone& cyclone : storms.cyclones) {
      within(std::abs(cyclone.latitude), 8.0, 30.0);
      within(cyclone.longitude, 0.0, 360.0);
      within(cyclone.depth, 2500.0, 7000.0);
      within(cyclone.shape, 1.1, 1.6);
      within(cyclone.radius, 0.4, 0.7);
      south += cyclone.latitude < 0.0 ? 1.0 / kDraws : 0.0;
    }
  }
  // Five standard deviations; the variance of a Poisson number is its mean.
  EXPECT_NEAR(rivers, 2.6, 0.13);
  EXPECT_NEAR(cyclones, 2.4, 0.13);
  EXPECT_NEAR(south, 1.2, 0.09);
  EXPECT_NEAR(rivers_squared - rivers * rivers, 2.6, 0.4);
  EXPECT_NEAR(cyclones_squared - cyclones * cyclones, 2.4, 0.4);
}

TEST(TropicalCyclone, IsDeepWarmMoistAndLabelledInItsCentre) {
  const auto sample = with({{}, {cyclone_at(15.0, 130.0)}});
  const std::size_t centre = point_at(15.0, 130.0);
  dataset::ClimateSample mutable_sample = sample;
  const auto of = [&](std::size_t point, Variable variable) {
    return static_cast<double>(at(mutable_sample, point, variable));
  };
  EXPECT_EQ(sample.labels[centre], kCyclone);
  EXPECT_LT(of(centre, Variable::kPsl), -3000.0);
  EXPECT_GE(of(centre, Variable::kPsl), -5000.0);
  EXPECT_GT(of(centre, Variable::kTmq), 20.0);
  EXPECT_GT(of(centre, Variable::kT500), 2.4);
  EXPECT_GT(of(centre, Variable::kT200), 4.4);
  const std::size_t far = point_at(15.0, 170.0);
  EXPECT_EQ(sample.labels[far], kBackground);
  EXPECT_GT(of(far, Variable::kPsl), -60.0);
  EXPECT_EQ(of(far, Variable::kTmq), 0.0);
  EXPECT_NEAR(of(far, Variable::kU850), 0.0, 1e-6);
}

TEST(TropicalCyclone, TurnsAgainstTheClockInTheNorthAlone) {
  for (const double latitude : {12.0, -12.0}) {
    auto sample = with({{}, {cyclone_at(latitude, 200.0)}});
    const double spin = latitude > 0.0 ? 1.0 : -1.0;
    const auto wind = [&](double north, double east, Variable variable) {
      return spin *
             static_cast<double>(at(sample, point_at(latitude + north, 200.0 + east), variable));
    };
    EXPECT_GT(wind(0.0, 2.5, Variable::kV850), 15.0);  // northward in the east
    EXPECT_LT(wind(0.0, -2.5, Variable::kV850), -15.0);
    EXPECT_LT(wind(2.5, 0.0, Variable::kU850), -15.0);  // westward in the north
    EXPECT_GT(wind(-2.5, 0.0, Variable::kU850), 15.0);
  }
}

/// Holland's formulas, written out, along the centre's meridian.
TEST(TropicalCyclone, HasHollandsPressureAndWind) {
  const TropicalCyclone cyclone = cyclone_at(10.0, 90.0);
  auto sample = with({{}, {cyclone}});
  const double radius = 0.5 * 2.0;  // twice as wide on a grid with a quarter of the columns
  for (std::int64_t row = 80; row < 104; ++row) {
    const double r = std::abs(kGrid.latitude(row) - 10.0);
    const double power = std::pow(radius / r, 1.3);
    const std::size_t point = kGrid.point(row, 72);
    EXPECT_NEAR(static_cast<double>(at(sample, point, Variable::kPsl)),
                -5000.0 * (1.0 - std::exp(-power)), 0.01);
    EXPECT_NEAR(std::abs(static_cast<double>(at(sample, point, Variable::kU850))),
                std::sqrt(1.3 * 5000.0 / 1.15 * power * std::exp(-power)) * std::exp(-r * r / 64.0),
                1e-4);
    EXPECT_EQ(sample.labels[point] == kCyclone, r < 3.6 * radius) << r;
  }
}

TEST(TropicalCyclone, GoesAroundTheGlobe) {
  const auto middle = with({{}, {cyclone_at(-20.0, 180.0)}});
  const auto edge = with({{}, {cyclone_at(-20.0, 0.0)}});
  for (std::int64_t row = 0; row < kGrid.height; ++row) {
    for (std::int64_t column = 0; column < kGrid.width; ++column) {
      const std::size_t a = kGrid.point(row, column);
      const std::size_t b = kGrid.point(row, (column + kGrid.width / 2) % kGrid.width);
      ASSERT_EQ(edge.labels[a], middle.labels[b]);
    }
  }
  EXPECT_GT(labelled(edge, kCyclone), 10);
}

TEST(AtmosphericRiver, IsMoistWindyAndLabelledAlongItsPath) {
  const AtmosphericRiver river = river_from(40.0);
  auto sample = with({{river}, {}});
  for (const double t : {0.2, 0.5, 0.8}) {
    const double latitude = 20.0 + 30.0 * t + 5.0 * std::sin(std::numbers::pi * t);
    const std::size_t point = point_at(latitude, 40.0 + 50.0 * t);
    EXPECT_EQ(sample.labels[point], kRiver) << t;
    EXPECT_GT(at(sample, point, Variable::kTmq), 18.0F);
    EXPECT_GT(at(sample, point, Variable::kU850), 5.0F);  // eastward and poleward
    EXPECT_GT(at(sample, point, Variable::kV850), 3.0F);
    EXPECT_NEAR(at(sample, point, Variable::kPrect), 6e-8F, 1e-8F);
    EXPECT_EQ(sample.labels[point_at(latitude + 12.0, 40.0 + 50.0 * t)], kBackground);
  }
  for (const double t : {0.0, 1.0}) {  // tapered ends
    const std::size_t point = point_at(20.0 + 30.0 * t, 40.0 + 50.0 * t);
    EXPECT_EQ(sample.labels[point], kBackground);
    EXPECT_LT(at(sample, point, Variable::kTmq), 3.0F);
  }
  AtmosphericRiver southern = river;
  southern.hemisphere = -1.0;
  auto mirrored = with({{southern}, {}});
  const std::size_t point = point_at(-40.0, 65.0);
  EXPECT_EQ(mirrored.labels[point], kRiver);
  EXPECT_LT(at(mirrored, point, Variable::kV850), -3.0F);
}

TEST(AtmosphericRiver, HasTheWidthOfItsMoisture) {
  const AtmosphericRiver river = river_from(100.0);
  auto sample = with({{river}, {}});
  // At 1.18 half widths a Gaussian has half its height, apart from the rounding of nearest points.
  for (std::size_t point = 0; point < sample.labels.size(); ++point) {
    const float moisture = at(sample, point, Variable::kTmq);
    if (moisture > 10.0F) {
      EXPECT_EQ(sample.labels[point], kRiver);
    } else if (moisture < 4.9F) {
      EXPECT_EQ(sample.labels[point], kBackground);
    }
  }
}

TEST(AtmosphericRiver, GoesAroundTheGlobe) {
  const auto middle = with({{river_from(150.0)}, {}}), edge = with({{river_from(330.0)}, {}});
  for (std::int64_t row = 0; row < kGrid.height; ++row) {
    for (std::int64_t column = 0; column < kGrid.width; ++column) {
      const std::size_t a = kGrid.point(row, column);
      const std::size_t b = kGrid.point(row, (column + kGrid.width / 2) % kGrid.width);
      ASSERT_EQ(edge.labels[a], middle.labels[b]);
    }
  }
}

TEST(Storms, LetCyclonesWin) {
  const double middle = 35.0 + 5.0;
  const auto sample = with({{river_from(40.0)}, {cyclone_at(middle, 65.0)}});
  EXPECT_EQ(sample.labels[point_at(middle, 65.0)], kCyclone);
  EXPECT_GT(labelled(sample, kRiver), 100);
}

TEST(Storms, AreWiderOnCoarserGrids) {
  const Storms storms = {{river_from(0.0)}, {cyclone_at(10.0, 0.0)}};
  const Storms full = widened(storms, 1152), coarse = widened(storms, 144);
  EXPECT_EQ(full.rivers[0].half_width, 2.3);
  EXPECT_EQ(full.cyclones[0].radius, 0.5);
  EXPECT_DOUBLE_EQ(coarse.rivers[0].half_width, 2.3 * std::pow(8.0, 0.25));
  EXPECT_DOUBLE_EQ(coarse.cyclones[0].radius, 0.5 * std::sqrt(8.0));
}

}  // namespace
}  // namespace deepcam
