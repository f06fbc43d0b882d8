// Newest runs compared with the last good ones.
#include "analysis/history/regression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

using analysis::history::Change;
using analysis::history::PastRun;
using analysis::history::sentence;
using analysis::history::Trend;
using analysis::history::trends_of;
using testing::HasSubstr;
using testing::IsEmpty;

class Regressions : public testing::Test {
 protected:
  /// Adds `count` runs of a revision, later than all others, that take about `ttt_s`.
  void add(const std::string& revision, int count, double ttt_s, const std::string& batch = "64") {
    for (int i = 0; i < count; ++i) {
      PastRun run;
      run.log = "box/resnet/result_" + std::to_string(runs_.size() + 1) + ".txt";
      run.workload = "resnet";
      run.system = "box";
      run.outcome = "success";
      run.started_ms = static_cast<std::int64_t>(runs_.size());
      run.ttt_s = ttt_s * (1.0 + 0.001 * i);
      run.train_throughput = 1e5 / ttt_s * (1.0 + 0.001 * i);
      run.revision = revision;
      run.settings = {{"batch", batch}, {"seed", std::to_string(runs_.size())}};
      runs_.insert(runs_.begin(), run);  // newest first
    }
  }
  std::vector<Trend> trends() const { return trends_of(runs_, 1); }
  std::vector<PastRun> runs_;
};

TEST_F(Regressions, TellASlowerRevision) {
  add("old", 5, 100.0);
  add("new", 5, 110.0);
  const auto found = trends();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].change, Change::kSlower);
  EXPECT_EQ(found[0].revision, "new");
  EXPECT_EQ(found[0].before_revision, "old");
  ASSERT_EQ(found[0].figures.size(), 2u);
  EXPECT_NEAR(found[0].figures[0].slower, 1.1, 1e-9);
  EXPECT_NEAR(found[0].figures[1].slower, 1.1, 1e-9);
  EXPECT_DOUBLE_EQ(*found[0].figures[0].p_value, 2.0 / 252.0);
  EXPECT_THAT(sentence(found[0]),
              testing::AllOf(HasSubstr("resnet on box: revision new (5 runs) against old (5 runs)"),
                             HasSubstr("slower; time to train 110.22 s for 100.2")));
}

TEST_F(Regressions, AreNoneWhereItIsFasterOrTheSame) {
  add("old", 5, 100.0);
  add("new", 5, 90.0);
  EXPECT_EQ(trends()[0].change, Change::kFaster);
  runs_.clear();
  add("old", 5, 100.0);
  add("new", 5, 100.0);
  EXPECT_EQ(trends()[0].change, Change::kSame);
  EXPECT_EQ(trends()[0].figures[0].p_value, 1.0);
}

TEST_F(Regressions, OfFewRunsAreNotTold) {
  add("old", 3, 100.0);
  add("new", 3, 200.0);
  EXPECT_EQ(trends()[0].change, Change::kTooFew);
  EXPECT_FALSE(trends()[0].figures[0].p_value);
}

TEST_F(Regressions, DoNotCountAStoppedRunThatWasResumed) {
  add("old", 5, 100.0);
  add("new", 5, 100.0);
  runs_[1].outcome = "aborted";
  EXPECT_EQ(trends()[0].change, Change::kFailing);
  runs_[0].resumed = true;
  EXPECT_EQ(trends()[0].change, Change::kFailing) << "another seed";
  runs_[0].settings["seed"] = runs_[1].settings["seed"];
  EXPECT_NE(trends()[0].change, Change::kFailing);
}

TEST_F(Regressions, PassOverRevisionsWithFailedRuns) {
  add("good", 5, 100.0);
  add("broken", 5, 50.0);
  runs_[2].outcome = "target_missed";
  add("new", 5, 110.0);
  ASSERT_EQ(trends().size(), 1u);
  EXPECT_EQ(trends()[0].before_revision, "good");
  EXPECT_EQ(trends()[0].change, Change::kSlower);
}

TEST_F(Regressions, SayThatTheNewestFailed) {
  add("good", 5, 100.0);
  add("new", 5, 100.0);
  runs_[0].outcome = "aborted";
  EXPECT_EQ(trends()[0].change, Change::kFailing);
  EXPECT_EQ(trends()[0].failed, 1u);
  EXPECT_EQ(trends()[0].figures.size(), 2u);  // of the runs that did not fail
  EXPECT_FALSE(trends()[0].figures[0].p_value.value_or(1.0) < 0.04);
  EXPECT_THAT(sentence(trends()[0]), HasSubstr("1 of the newest failed"));
}

TEST_F(Regressions, HoldOnlyRunsOfOneConfigurationAgainstEachOther) {
  add("old", 5, 100.0, "64");
  add("new", 5, 200.0, "128");
  EXPECT_THAT(trends(), IsEmpty());
  add("new", 5, 100.0, "64");
  EXPECT_EQ(trends()[0].change, Change::kSame);
}

TEST_F(Regressions, LeaveOutResumedRuns) {
  add("good", 5, 100.0);
  runs_[0].resumed = true;
  add("new", 6, 120.0);
  runs_[0].resumed = true;
  const auto found = trends();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].failed, 0u);
  EXPECT_EQ(found[0].logs.size(), 5u);
  EXPECT_EQ(found[0].before_logs.size(), 4u);
  EXPECT_EQ(found[0].change, Change::kSlower);
}

/// The p-values of six kinds of runs are six times those of one.
TEST_F(Regressions, OfManyKindsAreNotFoundByTheirNumber) {
  for (int kind = 0; kind < 6; ++kind) {
    add("old", 5, kind == 0 ? 100.0 : 110.0, std::to_string(kind));
    add("new", 5, 110.0, std::to_string(kind));
  }
  const auto found = trends();
  ASSERT_EQ(found.size(), 6u);
  for (const Trend& trend : found) {
    EXPECT_NE(trend.change, Change::kSlower);
    EXPECT_GE(trend.figures[0].p_value.value_or(1.0), 6.0 * 2.0 / 252.0 - 1e-12);
  }
}

TEST_F(Regressions, NeedARevision) {
  add("", 5, 100.0);
  add("new", 5, 200.0);
  EXPECT_THAT(trends(), IsEmpty());
}

TEST(PastRun, RevisionsAreShortened) {
  using analysis::history::short_revision;
  EXPECT_EQ(short_revision("570ab90223c88800d2adc483055fe50aff73d60e-dirty"), "570ab90223c8-dirty");
  EXPECT_EQ(short_revision(""), "");
}

}  // namespace
