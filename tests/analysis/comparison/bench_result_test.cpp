// Comparisons of bench results: figures, calibration, bad input.
#include "analysis/comparison/bench_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/random.h"
#include "runner/base/thrown_message.h"

namespace {

using analysis::comparison::BenchComparison;
using analysis::comparison::BenchResult;
using analysis::comparison::compare_bench;
using analysis::comparison::parse_bench;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

json bench(const std::vector<double>& times) {
  return {{"workload", "resnet50"},
          {"batch_per_rank", 32},
          {"ranks", 2},
          {"precision", "f32"},
          {"step_s", {{"times", times}}}};
}

BenchResult result(const std::vector<double>& times) {
  return parse_bench(bench(times).dump(), "x");
}

/// Steps of mean `mean` whose standard deviation is 3 % of it.
BenchResult drawn(double mean, std::size_t steps, std::uint64_t seed) {
  base::RandomStream random(seed, base::Purpose::kGenerate, 0, 0);
  std::vector<double> times(steps);
  for (double& time : times) time = mean * (1.0 + 0.03 * random.normal());
  return result(times);
}

TEST(BenchComparison, DividesMedianRates) {
  const BenchResult slow = result({2.0, 2.2, 2.1, 9.0});
  const BenchResult fast = result({1.0, 1.1, 1.05, 1.05});
  EXPECT_DOUBLE_EQ(slow.samples_per_s(), 64.0 / 2.15);
  const BenchComparison comparison = compare_bench(slow, fast, 1);
  EXPECT_DOUBLE_EQ(comparison.ratio, 2.15 / 1.05);
  EXPECT_LE(comparison.interval.low, comparison.ratio);
  EXPECT_GE(comparison.interval.high, comparison.ratio);
  // Of the 70 ways to choose four of eight, the observed one and its mirror are the most extreme.
  EXPECT_DOUBLE_EQ(comparison.p_value, 2.0 / 70.0);
  EXPECT_TRUE(comparison.distinguishable);
}

TEST(BenchComparison, CallsEqualResultsEqual) {
  const BenchResult one = result({1.0, 1.1, 1.2, 1.3});
  const BenchComparison comparison = compare_bench(one, one, 1);
  EXPECT_EQ(comparison.ratio, 1.0);
  EXPECT_EQ(comparison.p_value, 1.0);
  EXPECT_FALSE(comparison.distinguishable);
}

/// The number of pairs of results with `steps` steps each whose p-value is below 0.05.
int told_apart(double first_mean, std::size_t steps, std::uint64_t pairs) {
  int found = 0;
  for (std::uint64_t i = 0; i < pairs; ++i) {
    const double p = analysis::comparison::bench_p_value(drawn(first_mean, steps, 2 * i),
                                                         drawn(1.0, steps, 2 * i + 1), i);
    if (p < 0.05) ++found;
  }
  return found;
}

TEST(BenchComparison, TakesNoiseForADifferenceInAtMostOneOfTwenty) {
  EXPECT_LE(told_apart(1.0, 5, 1000), 50 + 14) << "5 % and two standard deviations; exact";
  EXPECT_LE(told_apart(1.0, 12, 60), 3 + 4) << "by draws";
}

TEST(BenchComparison, FindsAGapOfAFifth) {
  EXPECT_GE(told_apart(1.2, 5, 200), 190);
  EXPECT_GE(told_apart(1.2, 12, 10), 10);
}

TEST(BenchComparison, IsTheSameForTheSameSeed) {
  const BenchResult a = drawn(1.0, 30, 1), b = drawn(1.02, 30, 2);
  const BenchComparison one = compare_bench(a, b, 7), again = compare_bench(a, b, 7);
  EXPECT_EQ(one.p_value, again.p_value);
  EXPECT_EQ(one.interval.low, again.interval.low);
}

TEST(BenchComparison, SaysWhatElseDiffers) {
  json other = bench({1.0, 1.1, 1.2});
  other["precision"] = "bf16";
  other["batch_per_rank"] = 64;
  const BenchComparison comparison =
      compare_bench(result({1.0, 1.1, 1.2}), parse_bench(other.dump(), "y"), 1);
  EXPECT_THAT(comparison.differences,
              ElementsAre("batch_per_rank: 32 and 64", "precision: \"f32\" and \"bf16\""));
  EXPECT_DOUBLE_EQ(comparison.ratio, 2.0) << "samples, not steps";
}

TEST(BenchComparison, RefusesWhatIsNoResult) {
  const auto refusal = [](const std::string& text) {
    return base::thrown_message<base::DataError>([&] { parse_bench(text, "x.json"); });
  };
  EXPECT_THAT(refusal("["), HasSubstr("x.json: line 1"));
  EXPECT_THAT(refusal("[]"), HasSubstr("x.json: no JSON object; expected what trainmark bench"));
  EXPECT_THAT(refusal("{}"), HasSubstr("/step_s/times is missing"));
  EXPECT_THAT(refusal(bench({1.0, 2.0}).dump()), HasSubstr("at least 3 steps, got 2"));
  EXPECT_THAT(refusal(bench({1.0, 2.0, 0.0}).dump()),
              HasSubstr("positive numbers from 1e-12 to 1e+12, got 0"));
  json negative = bench({1.0, 1.0, 1.0});
  negative["layers"] = {{{"name", "conv1"}, {"forward_ms", 1.0}, {"backward_ms", -2.0}}};
  EXPECT_THAT(refusal(negative.dump()), HasSubstr("backward_ms: must be from 0 to 1e+15, got -2"));
  json no_ranks = bench({1.0, 1.0, 1.0});
  no_ranks["ranks"] = "two";
  EXPECT_THAT(refusal(no_ranks.dump()), HasSubstr("/ranks: must be a positive number from"));
}

TEST(BenchComparison, RefusesFiguresOfWhichNoComparisonIsANumber) {
  const auto refusal = [](const json& document) {
    return base::thrown_message<base::DataError>([&] { parse_bench(document.dump(), "x.json"); });
  };
  EXPECT_THAT(refusal(bench({1.0, 1.0, 1e300})), HasSubstr("/step_s/times: must hold positive"));
  EXPECT_THAT(refusal(bench({1.0, 1.0, 5e-324})), HasSubstr("/step_s/times: must hold positive"));
  json many = bench({1.0, 1.0, 1.0});
  many["batch_per_rank"] = 1e200;  // times ranks of 1e200: infinite
  EXPECT_THAT(refusal(many), HasSubstr("/batch_per_rank: must be a positive number from"));
  json slow = bench({1.0, 1.0, 1.0});
  slow["layers"] = {{{"name", "conv1"}, {"forward_ms", 1e308}, {"backward_ms", 1e308}}};
  EXPECT_THAT(refusal(slow), HasSubstr("/layers: forward_ms: must be from 0 to 1e+15, got 1e+308"));
}

}  // namespace
