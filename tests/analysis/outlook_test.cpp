// Prediction of a run's end: known answers, and coverage of the intervals.
#include "analysis/outlook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runner/base/random.h"

namespace {

using analysis::EarlierRun;
using analysis::Outlook;
using analysis::outlook_of;
using analysis::RunFacts;
using analysis::Standing;

/// Facts with evaluations of these qualities every 10 s, and an error that must fall to 0.5.
RunFacts falling(const std::vector<double>& qualities) {
  RunFacts facts;
  facts.metric = "eval_error";
  mllog::TargetPart part;
  part.direction = mllog::Direction::kFalls;
  part.value = 0.5;
  facts.target = {"eval_error", {part}};
  for (std::size_t i = 0; i < qualities.size(); ++i) {
    analysis::Evaluation one;
    one.time_s = 10.0 * static_cast<double>(i + 1);
    one.quality = qualities[i];
    facts.evaluations.push_back(one);
  }
  return facts;
}

TEST(Outlook, TakesTheEpochsOfEarlierRunsAtThisRunsPace) {
  const std::vector<EarlierRun> earlier = {{9.0, 500.0}, {10.0, 510.0}, {11.0, 520.0}};
  // 20 s of staging, then 2 epochs in 60 s: 30 s each.
  const Outlook outlook = outlook_of({}, {80.0, 20.0, 2.0}, earlier).value();
  EXPECT_EQ(outlook.basis, "3 earlier runs of this folder");
  EXPECT_DOUBLE_EQ(outlook.end_s, 320.0);
  // Student's t with 2 degrees of freedom at 0.975 is 4.3027; the deviation is 30 s.
  EXPECT_NEAR(*outlook.high_s, 320.0 + 4.30265 * 30.0 * std::sqrt(4.0 / 3.0), 1e-2);
  EXPECT_NEAR(*outlook.low_s, 320.0 - 4.30265 * 30.0 * std::sqrt(4.0 / 3.0), 1e-2);
}

TEST(Outlook, TakesTheirTimesBeforeTheFirstEpoch) {
  const std::vector<EarlierRun> earlier = {{9.0, 500.0}};
  const Outlook outlook = outlook_of({}, {5.0, 0.0, 0.0}, earlier).value();
  EXPECT_EQ(outlook.basis, "1 earlier run of this folder");
  EXPECT_DOUBLE_EQ(outlook.end_s, 500.0);
  EXPECT_FALSE(outlook.low_s);
}

TEST(Outlook, FollowsTheCurveWhereThisRunTakesLongerThanThoseBefore) {
  const std::vector<EarlierRun> earlier = {{2.0, 20.0}};
  const Outlook outlook = outlook_of(falling({0.9, 0.8, 0.7}), {35.0, 0.0, 3.5}, earlier).value();
  EXPECT_EQ(outlook.basis, "its last 3 evaluations");
  EXPECT_NEAR(outlook.end_s, 50.0, 1e-9);
  EXPECT_NEAR(*outlook.low_s, 50.0, 1e-6);  // a straight line has no uncertainty
  EXPECT_NEAR(*outlook.high_s, 50.0, 1e-6);
}

TEST(Outlook, OfACurveTakesTheLastEightEvaluations) {
  std::vector<double> qualities(20, 3.0);
  for (std::size_t i = 12; i < 20; ++i) qualities[i] = 2.0 - 0.05 * static_cast<double>(i - 12);
  const Outlook outlook = outlook_of(falling(qualities), {201.0, 0.0, 20.0}, {}).value();
  EXPECT_EQ(outlook.basis, "its last 8 evaluations");
  EXPECT_NEAR(outlook.end_s, 200.0 + (1.65 - 0.5) / 0.005, 1e-6);
}

TEST(Outlook, IsNoneWhereTheCurveDoesNotTell) {
  const Standing standing = {35.0, 0.0, 3.5};
  EXPECT_FALSE(outlook_of(falling({0.9, 0.8}), standing, {}));
  EXPECT_FALSE(outlook_of(falling({0.7, 0.8, 0.9}), standing, {}));
  EXPECT_FALSE(outlook_of(falling({0.8, 0.8, 0.8}), standing, {}));
  EXPECT_FALSE(outlook_of(falling({}), standing, {}));
  RunFacts no_target = falling({0.9, 0.8, 0.7});
  no_target.target.reset();
  EXPECT_FALSE(outlook_of(no_target, standing, {}));
}

TEST(Outlook, HasNoUpperEndWhereTheCurveMayGoTheOtherWay) {
  const Outlook outlook =
      outlook_of(falling({0.9, 0.6, 0.95, 0.7, 0.8}), {51.0, 0.0, 5.0}, {}).value();
  EXPECT_FALSE(outlook.high_s);
  EXPECT_GE(*outlook.low_s, 51.0);
}

/// The interval contains the true end in about 95 of 100 noisy runs.
TEST(Outlook, HoldsTheTruthAsOftenAsItSays) {
  int held = 0;
  constexpr int kRuns = 1000;
  for (std::uint64_t run = 0; run < kRuns; ++run) {
    base::RandomStream random(run, base::Purpose::kGenerate, 0, 0);
    std::vector<double> qualities;
    for (int i = 1; i <= 8; ++i) qualities.push_back(1.0 - 0.05 * i + 0.005 * random.normal());
    // The true line meets 0.5 at 100 s.
    const auto outlook = outlook_of(falling(qualities), {80.0, 0.0, 8.0}, {});
    held += outlook && *outlook->low_s <= 100.0 && outlook->high_s.value_or(1e9) >= 100.0 ? 1 : 0;
  }
  EXPECT_GE(held, kRuns * 93 / 100);
}

}  // namespace
