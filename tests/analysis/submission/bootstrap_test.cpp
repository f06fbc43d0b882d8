// Sets drawn from the reference's runs, against exact distributions.
#include "analysis/submission/bootstrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runner/base/error.h"

namespace {

using namespace analysis::submission;

ReferenceSet set_of(std::vector<double> runs, std::int64_t runs_required = 5) {
  ReferenceSet set;
  set.usage = "hpc";
  set.round = "3.0";
  set.benchmark = "oc20";
  set.unit = "epochs";
  set.runs_required = runs_required;
  set.points = {{256, std::move(runs)}};
  return set;
}

/// A fifth of the runs take 10, the others 20: of five drawn, k take 20 with probability
/// C(5, k) 0.8^k 0.2^(5-k), and the mean without the least and the most is
/// 10 + 10 * clamp(k - 1, 0, 3) / 3.
const ReferenceSet kTwoValues = set_of({10, 10, 20, 20, 20, 20, 20, 20, 20, 20});
constexpr double kDraws[] = {0.00032, 0.0064, 0.0512, 0.2048, 0.4096, 0.32768};

double mean_of_draw(int twenties) { return 10.0 + 10.0 * std::clamp(twenties - 1, 0, 3) / 3.0; }

TEST(Bootstrap, OfEqualRunsPassesAlways) {
  const Bootstrap drawn = bootstrap(set_of({9, 9, 9, 9, 9, 9}), RcpEra::kHead, 256, 0);
  EXPECT_EQ(drawn.passing(), 1.0);
  EXPECT_EQ(drawn.failing(), 0.0);
  EXPECT_EQ(drawn.mean, 9.0);
  EXPECT_EQ(drawn.stdev, 0.0);
  for (const auto& quantile : drawn.quantiles) EXPECT_EQ(quantile.mean, 9.0);
  ASSERT_EQ(drawn.histogram.size(), 1u);
  EXPECT_EQ(drawn.histogram[0].sets, 10000);
  EXPECT_LE(drawn.histogram[0].from, 9.0);
  EXPECT_GT(drawn.histogram[0].to, 9.0);
}

TEST(Bootstrap, AgreesWithAnExactDistribution) {
  const double least = ReferenceCurve(kTwoValues, RcpEra::kHead).points()[0].least_mean;
  double mean = 0.0, square = 0.0, failing = 0.0;
  for (int k = 0; k <= 5; ++k) {
    mean += kDraws[k] * mean_of_draw(k);
    square += kDraws[k] * mean_of_draw(k) * mean_of_draw(k);
    if (mean_of_draw(k) < least) failing += kDraws[k];
  }
  EXPECT_GT(failing, 0.0);
  const double stdev = std::sqrt(square - mean * mean);
  for (const std::uint64_t seed : {0u, 1u, 2u, 77u}) {
    const Bootstrap drawn = bootstrap(kTwoValues, RcpEra::kHead, 256, seed);
    const double root = std::sqrt(static_cast<double>(drawn.sets));
    // Four standard errors: one comparison in 16,000 would fail, were the seeds not fixed.
    EXPECT_NEAR(drawn.mean, mean, 4.0 * stdev / root);
    EXPECT_NEAR(drawn.failing(), failing, 4.0 * std::sqrt(failing * (1.0 - failing)) / root);
    EXPECT_NEAR(drawn.stdev, stdev, 0.05 * stdev);
    EXPECT_DOUBLE_EQ(drawn.passing() + drawn.failing(), 1.0);
    EXPECT_NEAR(drawn.standard_error(), std::sqrt(failing * (1.0 - failing)) / root, 1e-3);
    // 0.7 % of the sets have a mean of 10, 5.8 % one of 13.3 at most, 26 % one of 16.7 at most.
    EXPECT_DOUBLE_EQ(drawn.quantiles[0].mean, 40.0 / 3.0);
    EXPECT_DOUBLE_EQ(drawn.quantiles[1].mean, 40.0 / 3.0);
    EXPECT_EQ(drawn.quantiles[2].mean, 20.0);
    EXPECT_EQ(drawn.quantiles[3].mean, 20.0);
    EXPECT_EQ(drawn.quantiles[4].mean, 20.0);
  }
}

TEST(Bootstrap, IsAFunctionOfTheSeed) {
  const Bootstrap one = bootstrap(kTwoValues, RcpEra::kHead, 256, 5);
  const Bootstrap same = bootstrap(kTwoValues, RcpEra::kHead, 256, 5);
  EXPECT_EQ(one.mean, same.mean);
  EXPECT_EQ(one.failing_sets, same.failing_sets);
  EXPECT_NE(one.mean, bootstrap(kTwoValues, RcpEra::kHead, 256, 6).mean);
}

TEST(Bootstrap, HistogramHoldsEverySetOnce) {
  const std::vector<double> uneven = {1.05, 1.1, 1.1, 1.2, 1.25, 1.3, 1.3, 1.35, 2.0, 7.7};
  for (const ReferenceSet& set : {kTwoValues, set_of(uneven, 10), set_of(uneven, 3)}) {
    const Bootstrap drawn = bootstrap(set, RcpEra::kHead, 256, 3);
    std::int64_t sets = 0, failing = 0;
    for (std::size_t i = 0; i < drawn.histogram.size(); ++i) {
      const Bootstrap::Bin& bin = drawn.histogram[i];
      EXPECT_NEAR(bin.from, i == 0 ? bin.from : drawn.histogram[i - 1].to, 1e-9);
      EXPECT_LE(bin.failing, bin.sets);
      EXPECT_TRUE(bin.to >= drawn.point.least_mean || bin.failing == bin.sets);
      sets += bin.sets;
      failing += bin.failing;
    }
    EXPECT_EQ(sets, drawn.sets);
    EXPECT_EQ(failing, drawn.failing_sets);
    EXPECT_LE(drawn.histogram.size(), 25u);
    EXPECT_LE(drawn.histogram.front().from, drawn.quantiles.front().mean);
    EXPECT_GT(drawn.histogram.back().to, drawn.quantiles.back().mean);
  }
  // Four means, each with a bin of its own.
  EXPECT_EQ(bootstrap(kTwoValues, RcpEra::kHead, 256, 3).histogram.size(), 4u);
}

TEST(Bootstrap, DrawsAsManyRunsAsASubmissionNeeds) {
  // More runs per set have less spread: the mean of 8 of 10 against 3 of 5.
  const ReferenceSet ten = set_of(kTwoValues.points[0].converged_after, 10);
  const Bootstrap few = bootstrap(kTwoValues, RcpEra::kHead, 256, 0);
  const Bootstrap many = bootstrap(ten, RcpEra::kHead, 256, 0);
  EXPECT_EQ(few.runs_per_set, 5);
  EXPECT_EQ(many.runs_per_set, 10);
  EXPECT_LT(many.stdev, 0.8 * few.stdev);
}

std::string refusal(const ReferenceSet& set, double batch_size) {
  try {
    bootstrap(set, RcpEra::kHead, batch_size, 0);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Bootstrap, RefusesBatchSizesWithoutRuns) {
  ReferenceSet two = kTwoValues;
  two.points.push_back({1024, {30, 30, 31}});
  EXPECT_THAT(refusal(two, 512),
              testing::AllOf(testing::HasSubstr("no reference runs at batch size 512"),
                             testing::HasSubstr("there are some at 256, 1024")));
  EXPECT_THAT(refusal(two, std::nan("")), testing::HasSubstr("there are some at"));
  EXPECT_THAT(refusal(set_of({1e308, 1e308, 1e308, 1e308}), 256),
              testing::HasSubstr("too long to be added up"));
}

}  // namespace
