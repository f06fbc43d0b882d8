// Student's t and the other statistics, compared with published tables, closed forms and numerical
// integration.
#include "analysis/statistics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace {

using namespace analysis;

TEST(Mean, OfNothingIsNoNumber) {
  EXPECT_TRUE(std::isnan(mean_of({})));
  const std::array values = {1.0, 2.0, 6.0};
  EXPECT_DOUBLE_EQ(mean_of(values), 3.0);
}

TEST(PopulationStdev, DividesByTheNumberOfValues) {
  const std::array values = {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0};
  EXPECT_DOUBLE_EQ(population_stdev(values), 2.0);
}

TEST(PopulationStdev, KeepsSmallSpreadsOfLargeValues) {
  const std::array values = {1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0};
  EXPECT_NEAR(population_stdev(values), std::sqrt(22.5), 1e-9);
}

TEST(WithoutExtremes, DropsAsManyOnEachSide) {
  const std::array values = {1.0, 2.0, 3.0, 4.0, 5.0};
  const auto inner = without_extremes(values, 1);
  EXPECT_EQ(std::vector<double>(inner.begin(), inner.end()), (std::vector<double>{2.0, 3.0, 4.0}));
  EXPECT_EQ(without_extremes(values, 2).size(), 1u);
  EXPECT_TRUE(without_extremes(values, 3).empty());
}

TEST(IncompleteBeta, HasItsClosedForms) {
  for (const double x : {0.0, 1e-9, 0.1, 0.37, 0.5, 0.9, 1.0 - 1e-9, 1.0}) {
    EXPECT_NEAR(incomplete_beta(1.0, 1.0, x), x, 1e-14) << x;
    EXPECT_NEAR(incomplete_beta(3.0, 1.0, x), x * x * x, 1e-14) << x;
    EXPECT_NEAR(incomplete_beta(2.0, 2.0, x), x * x * (3.0 - 2.0 * x), 1e-14) << x;
    EXPECT_NEAR(incomplete_beta(0.5, 0.5, x), 2.0 / std::numbers::pi * std::asin(std::sqrt(x)),
                1e-9)
        << x;
  }
}

TEST(IncompleteBeta, IsSymmetric) {
  for (const double a : {0.5, 1.5, 4.0, 30.0}) {
    for (const double x : {0.01, 0.2, 0.5, 0.77}) {
      EXPECT_NEAR(incomplete_beta(a, 2.5, x), 1.0 - incomplete_beta(2.5, a, 1.0 - x), 1e-13);
    }
  }
}

TEST(IncompleteBeta, IsNoNumberOutsideItsRange) {
  EXPECT_TRUE(std::isnan(incomplete_beta(0.0, 1.0, 0.5)));
  EXPECT_TRUE(std::isnan(incomplete_beta(1.0, -1.0, 0.5)));
  EXPECT_TRUE(std::isnan(incomplete_beta(1.0, 1.0, 1.5)));
  EXPECT_TRUE(std::isnan(incomplete_beta(1.0, 1.0, std::nan(""))));
}

/// Density of Student's t.
double density(double t, double freedom) {
  const double log_scale = std::lgamma((freedom + 1.0) / 2.0) - std::lgamma(freedom / 2.0) -
                           0.5 * std::log(freedom * std::numbers::pi);
  return std::exp(log_scale - (freedom + 1.0) / 2.0 * std::log1p(t * t / freedom));
}

/// The distribution by Simpson's rule from 0 to t.
double integrated_cdf(double t, double freedom) {
  constexpr int kPieces = 20000;
  const double step = t / kPieces;
  double sum = density(0.0, freedom) + density(t, freedom);
  for (int i = 1; i < kPieces; ++i) {
    sum += (i % 2 == 1 ? 4.0 : 2.0) * density(step * i, freedom);
  }
  return 0.5 + sum * step / 3.0;
}

TEST(StudentT, DistributionIsTheIntegralOfItsDensity) {
  for (const double freedom : {1.0, 2.0, 3.0, 11.0, 26.0, 94.0, 7.5}) {
    for (const double t : {-6.0, -2.0, -1e-6, 0.3, 1.7, 5.0}) {
      EXPECT_NEAR(student_t_cdf(t, freedom), integrated_cdf(t, freedom), 1e-12)
          << "t " << t << ", freedom " << freedom;
    }
  }
}

TEST(StudentT, DistributionHasItsClosedForms) {
  for (const double t : {-40.0, -3.0, -0.2, 0.0, 1e-12, 0.9, 12.0}) {
    EXPECT_NEAR(student_t_cdf(t, 1.0), 0.5 + std::atan(t) / std::numbers::pi, 1e-14);
    EXPECT_NEAR(student_t_cdf(t, 2.0), 0.5 + t / (2.0 * std::sqrt(2.0 + t * t)), 1e-14);
  }
  EXPECT_DOUBLE_EQ(student_t_cdf(INFINITY, 5.0), 1.0);
  EXPECT_DOUBLE_EQ(student_t_cdf(-INFINITY, 5.0), 0.0);
  EXPECT_TRUE(std::isnan(student_t_cdf(1.0, 0.0)));
}

struct TableRow {
  double freedom, at_90, at_95, at_975, at_99, at_995;
};

/// Percentage points of Student's t. Source: Abramowitz & Stegun, table 26.10; NIST handbook
/// 1.3.6.7.2.
constexpr TableRow kTable[] = {
    {1, 3.078, 6.314, 12.706, 31.821, 63.657}, {2, 1.886, 2.920, 4.303, 6.965, 9.925},
    {3, 1.638, 2.353, 3.182, 4.541, 5.841},    {5, 1.476, 2.015, 2.571, 3.365, 4.032},
    {9, 1.383, 1.833, 2.262, 2.821, 3.250},    {11, 1.363, 1.796, 2.201, 2.718, 3.106},
    {19, 1.328, 1.729, 2.093, 2.539, 2.861},   {24, 1.318, 1.711, 2.064, 2.492, 2.797},
    {30, 1.310, 1.697, 2.042, 2.457, 2.750},   {60, 1.296, 1.671, 2.000, 2.390, 2.660},
    {100, 1.290, 1.660, 1.984, 2.364, 2.626},  {1e6, 1.282, 1.645, 1.960, 2.326, 2.576}};

TEST(StudentT, QuantilesAreThoseOfPublishedTables) {
  constexpr double kRounding = 0.5e-3 + 1e-9;
  for (const TableRow& row : kTable) {
    EXPECT_NEAR(student_t_quantile(0.90, row.freedom), row.at_90, kRounding) << row.freedom;
    EXPECT_NEAR(student_t_quantile(0.95, row.freedom), row.at_95, kRounding) << row.freedom;
    EXPECT_NEAR(student_t_quantile(0.975, row.freedom), row.at_975, kRounding) << row.freedom;
    EXPECT_NEAR(student_t_quantile(0.99, row.freedom), row.at_99, kRounding) << row.freedom;
    EXPECT_NEAR(student_t_quantile(0.995, row.freedom), row.at_995, kRounding) << row.freedom;
  }
}

TEST(StudentT, QuantileInvertsTheDistribution) {
  for (const double freedom : {1.0, 4.0, 24.0, 94.0}) {
    for (const double probability : {1e-9, 0.001, 0.05, 0.3, 0.5, 0.8, 0.95, 0.999}) {
      const double t = student_t_quantile(probability, freedom);
      EXPECT_NEAR(student_t_cdf(t, freedom), probability, 1e-14) << freedom << ' ' << probability;
      EXPECT_DOUBLE_EQ(student_t_quantile(1.0 - probability, freedom),
                       -student_t_quantile(1.0 - (1.0 - probability), freedom) + 0.0);
    }
  }
}

TEST(StudentT, QuantileIsNoNumberOutsideItsRange) {
  for (const double probability : {0.0, 1.0, -0.1, std::nan("")}) {
    EXPECT_TRUE(std::isnan(student_t_quantile(probability, 5.0))) << probability;
  }
  EXPECT_TRUE(std::isnan(student_t_quantile(0.5, -1.0)));
}

TEST(SampleDeviation, DividesByOneLess) {
  EXPECT_DOUBLE_EQ(analysis::sample_stdev(std::vector{1.0, 2.0, 3.0}), 1.0);
  EXPECT_TRUE(std::isnan(analysis::sample_stdev(std::vector{1.0})));
}

}  // namespace
