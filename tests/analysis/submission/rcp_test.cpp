// Every outcome of the test against reference convergence points, and its messages.
#include "analysis/submission/rcp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>

namespace {

using namespace analysis::submission;
using testing::HasSubstr;

constexpr double kFailed = -1.0;

/// Runs of oc20; kFailed for one that did not converge.
std::vector<RcpRun> runs(double batch_size, std::initializer_list<double> epochs) {
  std::vector<RcpRun> made;
  for (const double epoch : epochs) {
    RcpRun run;
    run.name = "result_" + std::to_string(made.size()) + ".txt";
    run.benchmark = "oc20";
    run.batch_size = batch_size;
    if (epoch != kFailed) run.converged_after = epoch;
    made.push_back(run);
  }
  return made;
}

/// The points of HPC 3.0, as batch size: mean (least mean that passes). 256: 19.75 (18.2), 1024:
/// 24.375 (23.0384), 2048: 32.875 (31.6278).
std::optional<ReferenceSet> oc20() { return reference_points("hpc", "3.0", "oc20"); }

RcpResult test(const std::vector<RcpRun>& made, const RcpOptions& options = {}) {
  return test_convergence(made, oc20(), options);
}

TEST(Rcp, FindsThePointAtTheBatchSize) {
  const RcpResult result = test(runs(256, {25, 20, 21, 20, 15}));
  EXPECT_EQ(result.outcome, RcpOutcome::kFound);
  EXPECT_TRUE(result.passed);
  EXPECT_FALSE(result.bypassed);
  EXPECT_DOUBLE_EQ(*result.submission_mean, 61.0 / 3.0) << "fastest and slowest are dropped";
  EXPECT_DOUBLE_EQ(result.reference->test.mean, 19.75);
  EXPECT_DOUBLE_EQ(result.normalization, 1.0);
  EXPECT_GT(*result.p_value, 0.5);
  EXPECT_EQ(result.unit, "epochs");
  EXPECT_THAT(result.message, HasSubstr("found: reference point at batch size 256"));
  EXPECT_THAT(result.advice, testing::IsEmpty());
}

TEST(Rcp, ScalesWhatIsFasterThanTheMeanYetByChance) {
  const RcpResult result = test(runs(256, {18, 19, 19, 19, 20}));
  EXPECT_TRUE(result.passed);
  EXPECT_DOUBLE_EQ(result.normalization, 19.75 / 19.0);
  EXPECT_GT(*result.p_value, 0.05);
  EXPECT_LT(*result.p_value, 0.5);
  EXPECT_THAT(result.advice, testing::ElementsAre(HasSubstr("multiplied by 1.039474")));
}

TEST(Rcp, RefusesWhatIsFasterThanChanceAllowsAndSaysWhatIsMissing) {
  const RcpResult result = test(runs(256, {17, 17, 18, 18, 19}));
  EXPECT_EQ(result.outcome, RcpOutcome::kFound);
  EXPECT_FALSE(result.passed);
  EXPECT_LT(*result.p_value, 0.05);
  EXPECT_THAT(result.message, HasSubstr("faster than chance allows"));
  ASSERT_EQ(result.advice.size(), 1u);
  EXPECT_THAT(result.advice[0], HasSubstr("the mean must rise by 0.5333"));
  EXPECT_THAT(result.advice[0], HasSubstr("to 18.2"));
  EXPECT_THAT(result.advice[0],
              testing::ContainsRegex(": 1\\.6[0-9]* epochs more over the 3 counted runs"));
}

TEST(Rcp, CountsOneFailedRunAsTheSlowest) {
  const RcpResult result = test(runs(256, {20, kFailed, 21, 20, 15}));
  EXPECT_TRUE(result.passed);
  EXPECT_DOUBLE_EQ(*result.submission_mean, 61.0 / 3.0);
}

TEST(Rcp, RefusesTwoFailedRuns) {
  const RcpResult result = test(runs(256, {20, kFailed, 21, kFailed, 15}));
  EXPECT_EQ(result.outcome, RcpOutcome::kInsufficientConvergence);
  EXPECT_FALSE(result.passed);
  EXPECT_THAT(result.message, HasSubstr("2 of 5 runs did not converge"));
  EXPECT_THAT(result.advice, testing::ElementsAre("1 more converged runs are needed"));
}

/// Forty runs of unet3d at batch size 56: the first `failed` fail, the last four take `extreme`
/// samples, the others `samples`. In round 4.0 the reference mean is 357404.4, the least that
/// passes 334052.9146.
std::vector<RcpRun> forty(double samples, std::size_t failed, double extreme) {
  std::vector<RcpRun> made;
  for (std::size_t i = 0; i < 40; ++i) {
    RcpRun run;
    run.name = "result_" + std::to_string(i) + ".txt";
    run.benchmark = "unet3d";
    run.batch_size = 56;
    if (i >= failed) run.converged_after = i < 36 ? samples : extreme;
    made.push_back(run);
  }
  return made;
}

RcpResult test_unet3d(const std::vector<RcpRun>& made) {
  return test_convergence(made, reference_points("training", "4.0", "unet3d"));
}

TEST(Rcp, OfUnet3dDropsFourRunsAtEachEnd) {
  const RcpResult result = test_unet3d(forty(335000, 4, 1));
  EXPECT_EQ(result.outcome, RcpOutcome::kFound);
  EXPECT_TRUE(result.passed);
  EXPECT_DOUBLE_EQ(*result.submission_mean, 335000) << "four failed and four fast ones are dropped";
  EXPECT_EQ(result.unit, "samples");
  EXPECT_NEAR(result.normalization, 357404.4444 / 335000, 1e-9);
  EXPECT_FALSE(test_unet3d(forty(334000, 4, 1)).passed);
}

TEST(Rcp, OfUnet3dToleratesFourFailedRunsAndNotFive) {
  const RcpResult result = test_unet3d(forty(360000, 5, 360000));
  EXPECT_EQ(result.outcome, RcpOutcome::kInsufficientConvergence);
  EXPECT_THAT(result.message, HasSubstr("5 of 40 runs did not converge, at most 4 may"));
  EXPECT_TRUE(test_unet3d(forty(360000, 4, 360000)).passed);
}

TEST(Rcp, OfUnet3dCountsTheMeanThatIsLackingOverThirtyTwoRuns) {
  const RcpResult result = test_unet3d(forty(334000, 0, 334000));
  ASSERT_EQ(result.advice.size(), 1u);
  EXPECT_THAT(result.advice[0], HasSubstr("samples more over the 32 counted runs"));
}

/// Three runs of llama31_405b at batch size 1152 of round 5.0, where the reference converged after
/// 322560 samples in every run.
RcpResult test_llama(double samples) {
  std::vector<RcpRun> made = runs(1152, {samples, samples, samples});
  for (RcpRun& run : made) run.benchmark = "llama31_405b";
  return test_convergence(made, reference_points("training", "5.0", "llama31_405b"));
}

TEST(Rcp, OfLlama405bAllowsForOneEvaluationLess) {
  const RcpResult result = test_llama(322560 - 46080);
  EXPECT_TRUE(result.passed);
  EXPECT_DOUBLE_EQ(result.reference->least_mean, 276480);
  EXPECT_NEAR(result.normalization, 322560.0 / 276480.0, 1e-12);
  EXPECT_THAT(result.message, HasSubstr("but within the leeway of 46080 samples"));
  EXPECT_FALSE(test_llama(322560 - 46081).passed);
  EXPECT_THAT(test_llama(322560).message, HasSubstr("no faster than chance allows"));
}

TEST(Rcp, TellsOfRunsThatSucceededWithoutAPosition) {
  std::vector<RcpRun> made = runs(256, {20, kFailed, 21, kFailed, 15});
  made[1].succeeded = true;
  EXPECT_THAT(test(made).message,
              HasSubstr("1 of them ended with success, but no evaluation tells after how many "
                        "epochs"));
}

TEST(Rcp, InterpolatesBetweenPoints) {
  const RcpResult result = test(runs(640, {22, 22, 22, 22, 22}));
  EXPECT_EQ(result.outcome, RcpOutcome::kInterpolated);
  EXPECT_TRUE(result.passed);
  EXPECT_DOUBLE_EQ(result.reference->test.mean, 22.0625);
  EXPECT_THAT(result.between, testing::ElementsAre(256, 1024));
  EXPECT_THAT(result.message, HasSubstr("between reference points at 256 and 1024"));
}

TEST(Rcp, AsksForThePointItselfWhereTheInterpolatedOneFails) {
  const RcpResult result = test(runs(640, {20, 20, 20, 20, 20}));
  EXPECT_FALSE(result.passed);
  ASSERT_EQ(result.advice.size(), 2u);
  EXPECT_THAT(result.advice[1], HasSubstr("reference point at batch size 640 itself"));
  EXPECT_THAT(result.advice[1], HasSubstr("10 runs of the reference"));
}

TEST(Rcp, AcceptsSlowerConvergenceOnASmallerBatch) {
  const RcpResult result = test(runs(128, {19, 19, 19, 19, 19}));
  EXPECT_EQ(result.outcome, RcpOutcome::kSlowerOnSmallerBatch);
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(result.reference->batch_size, 256);
  EXPECT_DOUBLE_EQ(result.normalization, 19.75 / 19.0);
}

TEST(Rcp, MissesAPointBelowAllOfThem) {
  const RcpResult result = test(runs(128, {12, 12, 12, 12, 12}));
  EXPECT_EQ(result.outcome, RcpOutcome::kMissing);
  EXPECT_FALSE(result.passed);
  ASSERT_EQ(result.advice.size(), 2u);
  EXPECT_THAT(result.advice[0], HasSubstr("batch size 128 or less is needed"));
  EXPECT_THAT(result.advice[1], HasSubstr("must rise by 6.2"));
}

TEST(Rcp, MissesAPointAboveAllOfThem) {
  const RcpResult result = test(runs(4096, {99, 99, 99, 99, 99}));
  EXPECT_EQ(result.outcome, RcpOutcome::kMissing);
  EXPECT_FALSE(result.passed);
  EXPECT_FALSE(result.p_value);
  EXPECT_THAT(result.message, HasSubstr("4096 is above the largest with a reference point, 2048"));
  EXPECT_THAT(result.advice, testing::ElementsAre(HasSubstr("batch size 4096 or more is needed")));
}

TEST(Rcp, PassesByBypassAndSaysSo) {
  RcpOptions options;
  options.bypass = true;
  for (const double batch_size : {256.0, 640.0, 128.0, 4096.0}) {
    const RcpResult result = test(runs(batch_size, {9, 9, 9, 9, 9}), options);
    EXPECT_TRUE(result.passed) << batch_size;
    EXPECT_TRUE(result.bypassed) << batch_size;
    EXPECT_THAT(result.message, HasSubstr("rcp-bypass"));
    EXPECT_THAT(result.advice, testing::Not(testing::IsEmpty()));
  }
}

TEST(Rcp, BypassesNeitherFailedRunsNorMissingBatchSizes) {
  RcpOptions options;
  options.bypass = true;
  EXPECT_FALSE(test(runs(256, {20, kFailed, 21, kFailed, 15}), options).passed);
  std::vector<RcpRun> without = runs(256, {20, 20, 20, 20, 20});
  for (RcpRun& run : without) run.batch_size.reset();
  EXPECT_FALSE(test(without, options).passed);
}

TEST(Rcp, BypassedNoMissingPointInTheFirstRounds) {
  RcpOptions options;
  options.bypass = true;
  options.era = RcpEra::kFirstRounds;
  EXPECT_FALSE(test(runs(4096, {9, 9, 9, 9, 9}), options).passed);
  EXPECT_TRUE(test(runs(256, {9, 9, 9, 9, 9}), options).passed);
}

TEST(Rcp, NormalisesNothingInTheFirstRounds) {
  RcpOptions options;
  options.era = RcpEra::kFirstRounds;
  EXPECT_DOUBLE_EQ(test(runs(256, {18, 19, 19, 19, 20}), options).normalization, 1.0);
}

TEST(Rcp, DependsOnTheEraWhereSpreadDecides) {
  // 18.3333 is above today's 18.2 and below the 18.5 that a deviation without extremes gives.
  const std::vector<RcpRun> made = runs(256, {18, 18, 18, 19, 19});
  EXPECT_TRUE(test(made).passed);
  for (const RcpEra era : {RcpEra::k2024a, RcpEra::k2022, RcpEra::kFirstRounds}) {
    RcpOptions options;
    options.era = era;
    EXPECT_FALSE(test(made, options).passed);
  }
}

TEST(Rcp, TellsOfThePrunedPointAtItsBatchSize) {
  std::vector<RcpRun> made = runs(64, {17, 17, 17, 17, 17, 17, 17, 17, 17, 17});
  for (RcpRun& run : made) run.benchmark = "cosmoflow";
  const auto set = reference_points("hpc", "3.0", "cosmoflow");
  const RcpResult pruned = test_convergence(made, set);
  EXPECT_EQ(pruned.outcome, RcpOutcome::kInterpolated);
  EXPECT_TRUE(pruned.passed);
  EXPECT_THAT(pruned.advice, testing::Contains(HasSubstr("64 (at least 17.75")));
  EXPECT_THAT(pruned.advice, testing::Contains(HasSubstr("the runs would fail")));
  RcpOptions options;
  options.points = RcpPoints::kAll;
  const RcpResult all = test_convergence(made, set, options);
  EXPECT_EQ(all.outcome, RcpOutcome::kFound);
  EXPECT_FALSE(all.passed);
}

TEST(Rcp, NeedsABatchSize) {
  std::vector<RcpRun> made = runs(256, {20, 20, 20, 20, 20});
  for (RcpRun& run : made) run.batch_size.reset();
  EXPECT_EQ(test(made).outcome, RcpOutcome::kNoBatchSize);
}

TEST(Rcp, NamesRunsOfDifferentBatchSizes) {
  std::vector<RcpRun> made = runs(256, {20, 20, 20, 20, 20});
  made[3].batch_size = 512;
  const RcpResult result = test(made);
  EXPECT_EQ(result.outcome, RcpOutcome::kMixedRuns);
  EXPECT_EQ(result.message,
            "runs of different batch sizes: 256 in result_0.txt, 512 in result_3.txt");
}

TEST(Rcp, NamesRunsOfDifferentBenchmarks) {
  std::vector<RcpRun> made = runs(256, {20, 20, 20, 20, 20});
  made[1].benchmark = "deepcam";
  EXPECT_EQ(test(made).outcome, RcpOutcome::kMixedRuns);
  EXPECT_THAT(test(made).message, HasSubstr("'deepcam' in result_1.txt"));
}

TEST(Rcp, HasNothingToCompareWithoutPoints) {
  const RcpResult result = test_convergence(runs(256, {20, 20, 20, 20, 20}), std::nullopt);
  EXPECT_EQ(result.outcome, RcpOutcome::kNoReferencePoints);
  EXPECT_FALSE(result.passed);
}

TEST(Rcp, NeedsMoreThanTwoRuns) {
  EXPECT_EQ(test({}).outcome, RcpOutcome::kTooFewRuns);
  EXPECT_EQ(test(runs(256, {20, 20})).outcome, RcpOutcome::kTooFewRuns);
  const RcpResult three = test(runs(256, {20, 20, 20}));
  EXPECT_EQ(three.outcome, RcpOutcome::kFound);
  EXPECT_THAT(three.advice, testing::Contains(HasSubstr("3 runs, where 5 are required")));
}

TEST(Rcp, TestsDlrmWhichTheOfficialToolCannot) {
  std::vector<RcpRun> made = runs(55296, {1.8, 1.85, 1.85, 1.85, 1.9});
  for (RcpRun& run : made) run.benchmark = "dlrm";
  const RcpResult result = test_convergence(made, reference_points("training", "2.1", "dlrm"));
  EXPECT_EQ(result.outcome, RcpOutcome::kInterpolated) << "its own point is pruned";
  EXPECT_TRUE(result.reference.has_value());
}

TEST(RcpOutcome, HasItsWords) {
  EXPECT_EQ(to_string(RcpOutcome::kFound), "found");
  EXPECT_EQ(to_string(RcpOutcome::kTooFewRuns), "too few runs");
  EXPECT_EQ(to_string(RcpOutcome::kMissing), "missing");
}

}  // namespace
