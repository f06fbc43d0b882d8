// Tests of the planted model: Zipf's law, and known bias, AUC and entropy.
#include "workloads/dlrm/planted_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runner/base/error.h"
#include "runner/base/hash_chain.h"
#include "workloads/dlrm/logit_histogram.h"
#include "workloads/dlrm/tables.h"
#include "workloads/dlrm/zipf.h"

namespace dlrm {
namespace {

using base::mix;

PlantedShape small(double rate, std::uint64_t seed = 1) {
  return {13, parse_tables("small"), rate, seed};
}

/// Total probability of the first `top` ids, in percent.
double share(const Zipf& law, std::int64_t top) {
  double sum = 0.0;
  for (std::int64_t id = 0; id < top; ++id) sum += law.probability(id);
  return 100.0 * sum;
}

TEST(Zipf, HasTheSharesOfItsLaw) {
  const Zipf law(2000, 1.05);
  EXPECT_NEAR(share(law, 1), 4.9, 0.05);
  EXPECT_NEAR(share(law, 10), 24.8, 0.05);
  EXPECT_NEAR(share(law, 100), 57.9, 0.05);
  EXPECT_NEAR(share(law, 2000), 100.0, 1e-9);
}

TEST(Zipf, DrawsIdsAsOftenAsTheLawSays) {
  constexpr int kDraws = 1'000'000;
  const Zipf law(2000, 1.05);
  std::vector<double> counts(2000);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    ++counts[static_cast<std::size_t>(law.draw(mix(i)))];
  }
  double chi_squared = 0.0;
  for (std::int64_t id = 0; id < 2000; ++id) {
    const double expected = kDraws * law.probability(id);
    const double difference = counts[static_cast<std::size_t>(id)] - expected;
    chi_squared += difference * difference / expected;
  }
  // 1999 degrees of freedom; standard deviation sqrt(2 * 1999) = 63.
  EXPECT_NEAR(chi_squared, 1999.0, 4 * 63.0);
}

TEST(Zipf, DrawsTheTailOfAHugeTableAsOftenAsTheLawSays) {
  constexpr int kDraws = 1'000'000;
  constexpr std::int64_t kRows = 300'000;
  const Zipf law(kRows, 1.1);
  EXPECT_NEAR(share(law, kRows), 100.0, 1e-7);  // the sum over ids against the integral
  // Ranges of ids on both sides of the beginning of the tail.
  const std::vector<std::int64_t> ends = {100, 16'000, 16'384, 16'800, 60'000, 299'000, kRows};
  std::vector<double> counts(ends.size());
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const std::int64_t id = law.draw(mix(i));
    ASSERT_TRUE(id >= 0 && id < kRows) << id;
    ++counts[static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), id) -
                                      ends.begin())];
  }
  double before = 0.0;
  for (std::size_t range = 0; range < ends.size(); ++range) {
    const double until = share(law, ends[range]) / 100.0, p = until - before;
    EXPECT_NEAR(counts[range], kDraws * p, 4.0 * std::sqrt(kDraws * p)) << ends[range];
    before = until;
  }
}

TEST(Zipf, DrawsFromTablesOfOneAndOfFortyMillionRows) {
  const Zipf one(1, 1.05), many(39'979'771, 1.05);
  std::int64_t furthest = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    ASSERT_EQ(one.draw(mix(i)), 0);
    furthest = std::max(furthest, many.draw(mix(i)));
  }
  EXPECT_GT(furthest, 39'000'000);
  EXPECT_LT(furthest, 39'979'771);
}

struct Drawn {
  std::vector<double> logits;
  double clicks = 0.0, deviation = 0.0;
  LogitHistogram histogram;
};

Drawn draw(const PlantedModel& model, std::int64_t samples) {
  Drawn drawn;
  std::vector<std::int32_t> record(static_cast<std::size_t>(model.format().record_values()));
  for (std::int64_t i = 0; i < samples; ++i) {
    drawn.logits.push_back(model.draw(ClickSplit::kTest, i, record));
    drawn.histogram.add(drawn.logits.back());
    drawn.clicks += record[0];
  }
  const auto count = static_cast<double>(samples);
  const double mean = std::accumulate(drawn.logits.begin(), drawn.logits.end(), 0.0) / count;
  for (const double z : drawn.logits) drawn.deviation += (z - mean) * (z - mean) / count;
  drawn.deviation = std::sqrt(drawn.deviation);
  return drawn;
}

struct Known {
  double rate, bias, auc, entropy;
};

class PlantedFigures : public testing::TestWithParam<Known> {};

TEST_P(PlantedFigures, AreThoseThatTheModelIsKnownFor) {
  constexpr std::int64_t kSamples = 200'000;
  const Known known = GetParam();
  const PlantedModel model(small(known.rate), 0);
  const Drawn drawn = draw(model, kSamples);
  EXPECT_NEAR(model.bias(), known.bias, 0.012);  // the calibration set is finite
  EXPECT_NEAR(drawn.deviation, 1.56, 0.02);
  EXPECT_NEAR(drawn.histogram.bayes_auc(), known.auc, 0.002);
  EXPECT_NEAR(drawn.histogram.entropy(), known.entropy, 0.002);
  EXPECT_NEAR(drawn.clicks / kSamples, known.rate, 4.0 * std::sqrt(known.rate / kSamples));
}

INSTANTIATE_TEST_SUITE_P(Rates, PlantedFigures,
                         testing::Values(Known{0.25, -1.423, 0.827, 0.4210},
                                         Known{0.034, -4.260, 0.854, 0.1146}));

/// LogitHistogram::bayes_auc()'s formula on sorted logits: ties count half, a sample does not pair
/// with itself.
double plain_bayes_auc(const std::vector<double>& logits) {
  std::vector<double> p;
  for (const double z : logits) p.push_back(sigmoid(z));
  std::sort(p.begin(), p.end());
  double numerator = 0.0, below = 0.0, positives = 0.0, negatives = 0.0, selves = 0.0;
  for (std::size_t first = 0; first < p.size();) {
    std::size_t last = first;
    while (last < p.size() && p[last] == p[first]) ++last;
    const auto ties = static_cast<double>(last - first);
    numerator += ties * p[first] * (below + 0.5 * (ties - 1.0) * (1.0 - p[first]));
    below += ties * (1.0 - p[first]);
    first = last;
  }
  for (const double each : p) {
    positives += each;
    negatives += 1.0 - each;
    selves += each * (1.0 - each);
  }
  return numerator / (positives * negatives - selves);
}

TEST(LogitHistogram, AgreesWithTheSortedFormula) {
  const Drawn drawn = draw(PlantedModel(small(0.25), 0), 20'000);
  EXPECT_NEAR(drawn.histogram.bayes_auc(), plain_bayes_auc(drawn.logits), 1e-6);
  double entropy = 0.0;
  for (const double z : drawn.logits) {
    const double p = sigmoid(z);
    entropy -= (p * std::log(p) + (1.0 - p) * std::log(1.0 - p)) / 20'000.0;
  }
  EXPECT_NEAR(drawn.histogram.entropy(), entropy, 1e-6);
}

TEST(LogitHistogram, GivesHalfWhereAllAreAlikeAndNothingWithoutPairs) {
  LogitHistogram histogram;
  EXPECT_TRUE(std::isnan(histogram.entropy()));
  histogram.add(0.0);
  EXPECT_TRUE(std::isnan(histogram.bayes_auc()));
  histogram.add(0.0);
  EXPECT_NEAR(histogram.bayes_auc(), 0.5, 1e-9);
  EXPECT_NEAR(histogram.entropy(), std::log(2.0), 1e-9);
  LogitHistogram apart;
  apart.add(-1000.0);
  apart.add(1000.0);
  EXPECT_NEAR(apart.bayes_auc(), 1.0, 1e-9);
}

TEST(PlantedModel, ReachesItsBestAucInFact) {
  const PlantedModel model(small(0.25), 0);
  std::vector<std::int32_t> record(40);
  std::vector<std::pair<double, int>> ranked;
  LogitHistogram histogram;
  for (std::int64_t i = 0; i < 50'000; ++i) {
    const double logit = model.draw(ClickSplit::kTrain, i, record);
    histogram.add(logit);
    ranked.emplace_back(logit, record[0]);
  }
  std::sort(ranked.begin(), ranked.end());
  double negatives = 0.0, positives = 0.0, ordered = 0.0;
  for (const auto& [logit, click] : ranked) {
    if (click == 1) ordered += negatives;
    (click == 1 ? positives : negatives) += 1.0;
  }
  EXPECT_NEAR(ordered / (positives * negatives), histogram.bayes_auc(), 0.01);
}

TEST(PlantedModel, DrawsEverySampleFromSeedSplitAndIndexAlone) {
  const PlantedModel model(small(0.25), 0), same(small(0.25), 3), other(small(0.25, 2), 0);
  EXPECT_EQ(model.bias(), same.bias());
  std::vector<std::int32_t> a(40), b(40);
  const auto records_equal = [&](const PlantedModel& x, ClickSplit split, std::int64_t index) {
    model.draw(ClickSplit::kTrain, 123'456'789'012, a);
    x.draw(split, index, b);
    return a == b;
  };
  other.draw(ClickSplit::kTrain, 5, a);  // previous draws have no effect
  EXPECT_TRUE(records_equal(same, ClickSplit::kTrain, 123'456'789'012));
  EXPECT_FALSE(records_equal(same, ClickSplit::kTest, 123'456'789'012));
  EXPECT_FALSE(records_equal(same, ClickSplit::kTrain, 123'456'789'013));
  EXPECT_FALSE(records_equal(other, ClickSplit::kTrain, 123'456'789'012));
}

TEST(PlantedModel, LosesMoreAndMoreCounts) {
  // The last counts are the largest, and missing most often.
  const PlantedModel model(small(0.25), 0);
  std::vector<std::int32_t> record(40);
  std::vector<double> zeros(13);
  for (std::int64_t i = 0; i < 20'000; ++i) {
    model.draw(ClickSplit::kTrain, i, record);
    for (std::size_t c = 0; c < 13; ++c) {
      ASSERT_GE(record[1 + c], 0);
      zeros[c] += record[1 + c] == 0 ? 1.0 / 20'000 : 0.0;
    }
  }
  // A count is 0 if floor(exp(z)) is 0 or 1, that is z < log 2, or if it is missing.
  const auto below = [](double mean, double deviation) {
    return 0.5 * std::erfc(-(std::log(2.0) - mean) / deviation / std::sqrt(2.0));
  };
  EXPECT_NEAR(zeros[0], below(0.5, 0.8), 0.015);
  EXPECT_NEAR(zeros[12], 0.45 + 0.55 * below(4.0, 1.6), 0.015);
}

TEST(PlantedModel, TakesOtherShapes) {
  const PlantedModel model({1, {3}, 0.5, 1}, 1);
  std::vector<std::int32_t> record(3);
  for (std::int64_t i = 0; i < 1000; ++i) {
    EXPECT_TRUE(std::isfinite(model.draw(ClickSplit::kTrain, i, record)));
    ASSERT_TRUE(record[2] >= 0 && record[2] < 3);
  }
  EXPECT_THROW(PlantedModel({0, {3}, 0.5, 1}, 1), base::ConfigError);
  EXPECT_THROW(PlantedModel({1, {}, 0.5, 1}, 1), base::ConfigError);
  EXPECT_THROW(PlantedModel({1, {3, 0}, 0.5, 1}, 1), base::ConfigError);
  EXPECT_THROW(PlantedModel({1, {3}, 1.0, 1}, 1), base::ConfigError);
}

}  // namespace
}  // namespace dlrm
