// Tests of growth and power spectrum against published figures and finer integrals.
#include "workloads/cosmoflow/cosmology.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace cosmoflow {
namespace {

/// Integrates over log k by Simpson's rule.
template <class Integrand>
double integral(double from, double to, const Integrand& integrand) {
  constexpr int kSteps = 20'000;
  const double first = std::log(from), step = (std::log(to) - first) / kSteps;
  double sum = 0.0;
  for (int i = 0; i <= kSteps; ++i) {
    const int weight = i == 0 || i == kSteps ? 1 : i % 2 == 1 ? 4 : 2;
    sum += weight * integrand(std::exp(first + i * step));
  }
  return sum * step / 3.0;
}

double variance(const PowerSpectrum& spectrum, double k) {
  return k * k * k * spectrum(k) / (2.0 * std::numbers::pi * std::numbers::pi);
}

TEST(PowerSpectrum, HasThePublishedValues) {
  const PowerSpectrum spectrum(Cosmology{0.3, 0.8, 0.96, 0.7});
  EXPECT_NEAR(spectrum.transfer(0.01), 0.786141, 5e-7);
  EXPECT_NEAR(spectrum.transfer(0.1), 0.131992, 5e-7);
  EXPECT_NEAR(spectrum.transfer(1.0), 0.00459155, 5e-9);
  EXPECT_NEAR(spectrum.amplitude(), 2.948447e6, 0.5);
  EXPECT_NEAR(spectrum(0.01), 21907.6, 0.05);
  EXPECT_NEAR(spectrum(0.1), 5632.36, 0.006);
  EXPECT_NEAR(spectrum(1.0), 62.1601, 5e-5);
  EXPECT_EQ(spectrum.transfer(0.0), 1.0);
  EXPECT_EQ(spectrum(0.0), 0.0);
}

TEST(PowerSpectrum, HasTheDeviationInSpheresThatWasAskedFor) {
  for (const Cosmology& each :
       {Cosmology{}, Cosmology{0.21, 1.04, 0.672, 0.91}, Cosmology{0.39, 0.56, 1.248, 0.49}}) {
    const PowerSpectrum spectrum(each);
    const double squared = integral(1e-6, 1e3, [&](double k) {
      const double x = 8.0 * k;
      const double window = 3.0 * (std::sin(x) - x * std::cos(x)) / (x * x * x);
      return variance(spectrum, k) * (x < 0.01 ? 1.0 : window * window);
    });
    EXPECT_NEAR(std::sqrt(squared), each.sigma_8, 1e-5);
  }
}

TEST(PowerSpectrum, TurnsNonlinearWhereTheVarianceIsOne) {
  const PowerSpectrum spectrum(Cosmology{0.35, 0.9, 1.1, 0.6});
  for (const double grown : {1.0, 0.5, 0.3}) {
    const double limit = spectrum.nonlinear_wave_number(grown);
    const double reached = integral(1e-6, limit, [&](double k) { return variance(spectrum, k); });
    EXPECT_NEAR(grown * grown * reached, 1.0, 1e-4) << grown;
  }
}

TEST(PowerSpectrum, NeverTurnsNonlinearWithTooLittlePower) {
  const PowerSpectrum spectrum(cosmology_of({-1.0F, -1.0F, -1.0F, -1.0F}));
  EXPECT_EQ(spectrum.nonlinear_wave_number(0.3), PowerSpectrum::kMostWaveNumber);
  EXPECT_LT(spectrum.nonlinear_wave_number(1.0), 2.0);
}

TEST(Growth, HasThePublishedValues) {
  EXPECT_NEAR(growth(0.3, 0.5), 0.773181, 5e-7);
  EXPECT_NEAR(growth(0.3, 1.5), 0.500448, 5e-7);
  EXPECT_NEAR(growth(0.3, 3.0), 0.318840, 5e-7);
  EXPECT_NEAR(growth(0.2, 0.5), 0.807457, 5e-7);
  EXPECT_NEAR(growth(0.2, 1.5), 0.542289, 6e-7);
  EXPECT_NEAR(growth(0.2, 3.0), 0.349767, 5e-7);
}

TEST(Growth, FollowsTheScaleWhenMatterIsAll) {
  for (const double redshift : {0.0, 0.5, 1.5, 3.0}) {
    EXPECT_NEAR(growth(1.0, redshift), 1.0 / (1.0 + redshift), 1e-9);
  }
}

TEST(CosmologyOf, GoesThirtyPercentToBothSides) {
  const Cosmology low = cosmology_of({-1.0F, -1.0F, -1.0F, -1.0F});
  EXPECT_NEAR(low.omega_m, 0.21, 1e-12);
  EXPECT_NEAR(low.sigma_8, 0.56, 1e-12);
  EXPECT_NEAR(low.n_s, 0.672, 1e-12);
  EXPECT_NEAR(low.h, 0.49, 1e-12);
  const Cosmology mixed = cosmology_of({1.0F, 0.0F, 0.5F, 0.25F});
  EXPECT_NEAR(mixed.omega_m, 0.39, 1e-12);
  EXPECT_NEAR(mixed.sigma_8, 0.80, 1e-12);
  EXPECT_NEAR(mixed.n_s, 1.104, 1e-12);
  EXPECT_NEAR(mixed.h, 0.7525, 1e-12);
}

}  // namespace
}  // namespace cosmoflow
