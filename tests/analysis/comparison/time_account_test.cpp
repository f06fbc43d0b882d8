// The factors of a run's time to train.
#include "analysis/comparison/time_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "analysis/comparison/sides.h"

namespace {

using namespace analysis::comparison;
using testing::DoubleEq;
using testing::ElementsAre;

double product(const TimeAccount& account) {
  const auto factors = factors_of(account);
  return std::accumulate(factors.begin(), factors.end(), 1.0, std::multiplies<>());
}

TEST(TimeAccount, HasFactorsThatMultiplyToTheTime) {
  const TimeAccount account = account_of(made::facts({})).value();
  EXPECT_EQ(account.other_s, 10.0);
  EXPECT_THAT(factors_of(account), ElementsAre(DoubleEq(12.0), DoubleEq(5.0), DoubleEq(80.0 / 60.0),
                                               DoubleEq(90.0 / 80.0), DoubleEq(100.0 / 90.0)));
  EXPECT_DOUBLE_EQ(product(account), 100.0);
}

TEST(TimeAccount, MultipliesToTheMeanTimeOfSeveralRuns) {
  const std::vector<TimeAccount> accounts = {
      account_of(made::facts({100.0, 10.0, 20.0, 60.0, 5.0})).value(),
      account_of(made::facts({130.0, 5.0, 30.0, 95.0, 7.0})).value(),
      account_of(made::facts({90.0, 0.0, 0.0, 90.0, 4.0})).value()};
  const TimeAccount mean = mean_of(accounts);
  EXPECT_DOUBLE_EQ(mean.ttt_s, 320.0 / 3.0);
  EXPECT_NEAR(product(mean), mean.ttt_s, 1e-12 * mean.ttt_s);
}

TEST(TimeAccount, CountsEvaluationsBesideTheTrainingAsTraining) {
  analysis::RunFacts facts = made::facts({});
  facts.parts.async_eval = true;
  facts.parts.train_s.reset();
  facts.parts.other_s = 15.0;
  const TimeAccount account = account_of(facts).value();
  EXPECT_EQ(account.eval_s, 0.0);
  EXPECT_EQ(account.train_s, 75.0);
  EXPECT_EQ(account.other_s, 15.0);
  EXPECT_DOUBLE_EQ(product(account), 100.0);
}

TEST(TimeAccount, CountsAllButStagingAndEvaluationWhereNoEpochIsMarked) {
  analysis::RunFacts facts = made::facts({});
  facts.parts.train_s.reset();
  facts.parts.epoch_s.reset();
  facts.parts.other_s = 70.0;
  facts.progress.epochs_run.reset();
  const TimeAccount account = account_of(facts).value();
  EXPECT_EQ(account.train_s, 70.0);
  EXPECT_EQ(account.other_s, 0.0);
  EXPECT_FALSE(account.epochs.has_value());
  EXPECT_DOUBLE_EQ(product(account), 100.0);
}

TEST(TimeAccount, SumsUpWhereIntervalsOverlap) {
  // 15 s of staging overlap the first epoch.
  const TimeAccount account = account_of(made::facts({100.0, 25.0, 20.0, 70.0, 5.0})).value();
  EXPECT_EQ(account.train_s, 55.0);
  EXPECT_EQ(account.other_s, 0.0);
  EXPECT_DOUBLE_EQ(product(account), 100.0);
}

TEST(TimeAccount, NeedsAnEndAndTraining) {
  analysis::RunFacts facts = made::facts({});
  facts.ttt_s.reset();
  EXPECT_FALSE(account_of(facts).has_value());
  for (const double factor : factors_of(account_of(made::facts({30, 10, 20, 0, 5})).value())) {
    EXPECT_TRUE(std::isnan(factor));
  }
}

}  // namespace
