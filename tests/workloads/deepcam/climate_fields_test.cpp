// Tests of random fields: spectrum, deviation, independence.
#include "workloads/deepcam/climate_fields.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

namespace deepcam {
namespace {

constexpr std::int64_t kFieldHeight = 32, kFieldWidth = 48, kFieldDraws = 400;

/// The amplitude of the wave of (down, along) cycles, by a plain sum.
std::complex<double> wave_of(const Plane& plane, std::int64_t height, std::int64_t width,
                             std::int64_t down, std::int64_t along) {
  std::complex<double> sum = 0.0;
  for (std::int64_t i = 0; i < height; ++i) {
    for (std::int64_t j = 0; j < width; ++j) {
      const double turn = static_cast<double>(i * down) / static_cast<double>(height) +
                          static_cast<double>(j * along) / static_cast<double>(width);
      sum += static_cast<double>(plane[static_cast<std::size_t>(i * width + j)]) *
             std::polar(1.0, -2.0 * std::numbers::pi * turn);
    }
  }
  return sum / static_cast<double>(height * width);
}

double power_of(std::int64_t down, std::int64_t along) {
  return 1.0 / std::pow(static_cast<double>(down * down + along * along) + 4.0, 2);
}

/// The power of all waves of the tests' grid.
double total_power() {
  double total = 0.0;
  for (std::int64_t i = -kFieldHeight / 2 + 1; i <= kFieldHeight / 2; ++i) {
    for (std::int64_t j = -kFieldWidth / 2 + 1; j <= kFieldWidth / 2; ++j) total += power_of(i, j);
  }
  return total;
}

TEST(ClimateFields, HaveAnIsotropicSpectrumInCyclesPerDomain) {
  constexpr std::int64_t kWaves[][2] = {{0, 0}, {1, 0}, {0, 1}, {1, -1}, {2, 3},  {-3, 2},
                                        {5, 0}, {0, 5}, {4, 3}, {0, 20}, {12, 16}};
  std::vector<double> first_power(std::size(kWaves)), second_power(std::size(kWaves));
  ClimateFields fields(kFieldHeight, kFieldWidth);
  Plane first, second;
  for (std::uint64_t draw = 0; draw < kFieldDraws; ++draw) {
    fields.draw(draw, first, second);
    for (std::size_t i = 0; i < std::size(kWaves); ++i) {
      const auto [down, along] = kWaves[i];
      first_power[i] +=
          std::norm(wave_of(first, kFieldHeight, kFieldWidth, down, along)) / kFieldDraws;
      second_power[i] +=
          std::norm(wave_of(second, kFieldHeight, kFieldWidth, down, along)) / kFieldDraws;
    }
  }
  for (std::size_t i = 0; i < std::size(kWaves); ++i) {
    const double expected = power_of(kWaves[i][0], kWaves[i][1]) / total_power();
    // The mean of 400 exponential numbers deviates by 5 %, that of squared normal numbers by 7 %.
    EXPECT_NEAR(first_power[i] / expected, 1.0, 0.28) << i;
    EXPECT_NEAR(second_power[i] / expected, 1.0, 0.28) << i;
  }
}

TEST(ClimateFields, HaveADeviationOfOneAndAreIndependent) {
  ClimateFields fields(kFieldHeight, kFieldWidth);
  Plane first, second;
  double of_first = 0.0, of_second = 0.0, of_both = 0.0;
  for (std::uint64_t draw = 0; draw < kFieldDraws; ++draw) {
    fields.draw(1000 + draw, first, second);
    for (std::size_t at = 0; at < first.size(); ++at) {
      const auto a = static_cast<double>(first[at]), b = static_cast<double>(second[at]);
      of_first += a * a;
      of_second += b * b;
      of_both += a * b;
    }
  }
  const double values = static_cast<double>(kFieldDraws) * kFieldHeight * kFieldWidth;
  // A field has about ten independent parts.
  EXPECT_NEAR(of_first / values, 1.0, 0.1);
  EXPECT_NEAR(of_second / values, 1.0, 0.1);
  EXPECT_NEAR(of_both / values, 0.0, 0.08);
}

TEST(ClimateFields, KnowHowSteepTheyAre) {
  ClimateFields fields(kFieldHeight, kFieldWidth);
  Plane first, second;
  double down = 0.0, along = 0.0;
  for (std::uint64_t draw = 0; draw < kFieldDraws; ++draw) {
    fields.draw(draw, first, second);
    for (std::int64_t i = 0; i < kFieldHeight; ++i) {
      for (std::int64_t j = 0; j < kFieldWidth; ++j) {
        const auto value = [&](std::int64_t row, std::int64_t column) {
          return static_cast<double>(
              first[static_cast<std::size_t>((row + kFieldHeight) % kFieldHeight * kFieldWidth +
                                             (column + kFieldWidth) % kFieldWidth)]);
        };
        down += std::pow((value(i + 1, j) - value(i - 1, j)) / 2.0, 2);
        along += std::pow((value(i, j + 1) - value(i, j - 1)) / 2.0, 2);
      }
    }
  }
  const double values = static_cast<double>(kFieldDraws) * kFieldHeight * kFieldWidth;
  const auto [of_down, of_along] = fields.slope_deviations();
  EXPECT_NEAR(std::sqrt(down / values) / of_down, 1.0, 0.03);
  EXPECT_NEAR(std::sqrt(along / values) / of_along, 1.0, 0.03);
}

TEST(ClimateFields, DependOnTheStreamAlone) {
  ClimateFields fields(kFieldHeight, kFieldWidth), other(kFieldHeight, kFieldWidth);
  Plane first, second, again, again_second;
  fields.draw(5, first, second);
  other.draw(6, again, again_second);
  EXPECT_NE(first, again);
  other.draw(5, again, again_second);
  EXPECT_EQ(first, again);
  EXPECT_EQ(second, again_second);
  EXPECT_NE(first, second);
}

TEST(ClimateFields, HaveTheSameWavesOnAFinerGrid) {
  ClimateFields coarse(kFieldHeight, kFieldWidth), fine(2 * kFieldHeight, 2 * kFieldWidth);
  Plane of_coarse, of_fine, unused;
  coarse.draw(3, of_coarse, unused);
  fine.draw(3, of_fine, unused);
  const auto ratio = [&](std::int64_t down, std::int64_t along) {
    return wave_of(of_fine, 2 * kFieldHeight, 2 * kFieldWidth, down, along) /
           wave_of(of_coarse, kFieldHeight, kFieldWidth, down, along);
  };
  const std::complex<double> scale = ratio(1, 1);
  EXPECT_NEAR(scale.real(), 1.0, 0.01);  // the finer waves contribute to the deviation
  for (const auto& [down, along] : {std::pair(0, 1), {3, -2}, {-5, 0}, {7, 11}}) {
    EXPECT_LT(std::abs(ratio(down, along) - scale), 1e-3) << down << " " << along;
  }
}

}  // namespace
}  // namespace deepcam
