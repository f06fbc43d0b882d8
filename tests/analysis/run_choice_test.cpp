// Choice of the N consecutive runs of M that make a result.
#include "analysis/run_choice.h"

#include <gmock/gmock.h>

namespace {

using analysis::choose_runs;
using analysis::GroupRun;
using analysis::RunChoice;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kLaunchMs = 1.7e12;

/// Runs launched one after another; a time of 0 means a failed run.
std::vector<GroupRun> runs_of(const std::vector<double>& times_s) {
  std::vector<GroupRun> runs;
  for (const double time_s : times_s) {
    const auto number = static_cast<double>(runs.size());
    runs.push_back({"result_" + std::to_string(runs.size()) + ".txt", kLaunchMs + 1000.0 * number,
                    time_s > 0.0 ? std::optional(time_s) : std::nullopt});
  }
  return runs;
}

std::vector<double> scores_of(const RunChoice& choice) {
  std::vector<double> scores;
  for (const auto& window : choice.windows) scores.push_back(window.score_s.value_or(-1.0));
  return scores;
}

TEST(RunChoice, ScoresEveryWindowWithoutItsExtremesAndTakesTheMedian) {
  const RunChoice choice = choose_runs(runs_of({1, 2, 3, 4, 5, 6, 7}), 5, 1);
  EXPECT_THAT(scores_of(choice), ElementsAre(3.0, 4.0, 5.0));
  EXPECT_EQ(choice.chosen, 1u);
  EXPECT_THAT(choice.medians, ElementsAre(1));
  EXPECT_EQ(choice.windows[1].first, 1u);
}

TEST(RunChoice, TakesAllRunsWhereThereAreNoMoreThanMakeAResult) {
  const RunChoice choice = choose_runs(runs_of({5, 1, 3, 2, 4}), 5, 1);
  EXPECT_THAT(scores_of(choice), ElementsAre(3.0));
  EXPECT_EQ(choice.chosen, 0u);
}

TEST(RunChoice, TakesTheSlowerOfTheTwoMiddleWindowsOfAnEvenNumber) {
  // Six windows of five runs each, as in the rules' example of ten runs.
  const RunChoice choice = choose_runs(runs_of({9, 8, 7, 6, 5, 4, 3, 2, 1, 0.5}), 5, 1);
  EXPECT_THAT(scores_of(choice), ElementsAre(7.0, 6.0, 5.0, 4.0, 3.0, 2.0));
  EXPECT_EQ(choice.chosen, 2u);
  EXPECT_THAT(choice.medians, ElementsAre(2, 3));
}

TEST(RunChoice, SortsRunsByTheirLaunchAndNotByTheirNames) {
  std::vector<GroupRun> runs = runs_of({1, 2, 3, 4});
  std::swap(runs[0].launched_ms, runs[3].launched_ms);
  const RunChoice choice = choose_runs(runs, 3, 1);
  EXPECT_THAT(choice.order, ElementsAre(3, 1, 2, 0));
  EXPECT_THAT(scores_of(choice), ElementsAre(3.0, 2.0));
}

TEST(RunChoice, KeepsTheOrderOfNamesBetweenRunsThatWereLaunchedAtOnce) {
  std::vector<GroupRun> runs = runs_of({1, 2, 3});
  for (GroupRun& run : runs) run.launched_ms = kLaunchMs;
  EXPECT_THAT(choose_runs(runs, 3, 1).order, ElementsAre(0, 1, 2));
}

TEST(RunChoice, CountsFailedRunsAsTheSlowest) {
  const RunChoice choice = choose_runs(runs_of({1, 2, 0, 3, 4, 5, 6}), 5, 1);
  EXPECT_THAT(scores_of(choice), ElementsAre(3.0, 4.0, 5.0));  // {2,3,4} {3,4,5} {4,5,6}
}

TEST(RunChoice, CountsWindowsWithTooManyFailedRunsAsInfinite) {
  const RunChoice choice = choose_runs(runs_of({0, 0, 1, 2, 3, 4, 5}), 5, 1);
  EXPECT_THAT(scores_of(choice), ElementsAre(-1.0, 3.0, 3.0));
  EXPECT_EQ(choice.chosen, 1u);
  EXPECT_THAT(choice.medians, ElementsAre(1, 2));
}

TEST(RunChoice, HasNoWindowWhereTheMedianIsInfinite) {
  const RunChoice choice = choose_runs(runs_of({0, 0, 0, 2, 3, 4, 5}), 5, 1);
  EXPECT_THAT(scores_of(choice), ElementsAre(-1.0, -1.0, 4.0));
  EXPECT_EQ(choice.chosen, std::nullopt);
  EXPECT_EQ(choice.problem, "");
  // Of two windows the slower one decides.
  EXPECT_EQ(choose_runs(runs_of({0, 0, 1, 2, 3, 4}), 5, 1).chosen, std::nullopt);
}

TEST(RunChoice, ForgivesFourFailedRunsOfUnet3d) {
  std::vector<double> times(41, 10.0);
  for (std::size_t i = 0; i < 4; ++i) times[10 * i] = 0.0;
  const RunChoice choice = choose_runs(runs_of(times), 40, 4);
  EXPECT_THAT(scores_of(choice), ElementsAre(10.0, 10.0));
  times[5] = 0.0;
  EXPECT_EQ(choose_runs(runs_of(times), 40, 4).chosen, std::nullopt);
}

TEST(RunChoice, TakesTheOrderOfNamesForLogsWithoutADateWhereTheOthersFollowIt) {
  std::vector<GroupRun> runs = runs_of({1, 2, 3, 4});
  runs[1].launched_ms.reset();
  EXPECT_THAT(choose_runs(runs, 3, 1).order, ElementsAre(0, 1, 2, 3));
  std::swap(runs[0].launched_ms, runs[3].launched_ms);
  const RunChoice choice = choose_runs(runs, 3, 1);
  EXPECT_THAT(choice.problem, HasSubstr("leave open in which order"));
  EXPECT_THAT(choice.windows, IsEmpty());
}

TEST(RunChoice, TellsThatThereAreTooFewRuns) {
  EXPECT_EQ(choose_runs(runs_of({1, 2}), 5, 1).problem, "the rules ask for 5 runs, there are 2");
}

}  // namespace
