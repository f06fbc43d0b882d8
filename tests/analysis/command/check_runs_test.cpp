// The command `check --runs`: groups of M runs, the window to submit, and folders of picked runs.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <string>

#include "analysis/command/checked_submission.h"
#include "runner/base/temporary_directory.h"

namespace {

using analysis::command::CheckOptions;
using base::ExitCode;
using checking::check;
using checking::refusal;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// The log of a run of oc20 that keeps all rules, launched `number` hours after the first. With 0
/// minutes it misses its target.
std::string run_of(int number, double minutes, double epoch = 20.0) {
  std::string log = checking::log_of(epoch, std::to_string(100 + number));
  if (minutes == 0.0) log.replace(log.find("\"value\": 0.03"), 13, "\"value\": 0.5");
  return checking::timed(log, 3600.0 * number, 60.0 * (minutes > 0.0 ? minutes : 30.0));
}

class CheckRuns : public testing::Test {
 protected:
  /// Writes result_0.txt and so on to `folder`, the runs `first`, `first` + 1 ... of run_of().
  void write(const std::string& folder, const std::vector<double>& minutes, int first = 0) {
    for (std::size_t i = 0; i < minutes.size(); ++i) {
      const int number = first + static_cast<int>(i);
      folder_.write(folder + "/result_" + std::to_string(i) + ".txt", run_of(number, minutes[i]));
    }
  }
  CheckOptions options(std::int64_t runs) const {
    CheckOptions options = checking::reading({folder_.path().string()});
    options.round = "hpc-3.0";
    options.runs = runs;
    return options;
  }
  json groups(std::int64_t runs) const {
    CheckOptions with_json = options(runs);
    with_json.json = "-";
    return json::parse(check(with_json).out)["run_groups"]["folders"];
  }
  json audit_of(const std::string& folder, std::int64_t runs) const {
    CheckOptions with_json = options(runs);
    with_json.json = "-";
    const json found = json::parse(check(with_json).out);
    json texts = json::array();
    for (const json& one : found["sets"][folder]["audit"]) {
      const std::string rule = one["rule"];
      if (rule.starts_with("window") || rule.starts_with("runs-not")) texts.push_back(one);
    }
    return texts;
  }

  base::TemporaryDirectory folder_;
};

TEST_F(CheckRuns, NamesAllRunsTheirWindowsAndTheOneToSubmit) {
  write("all", {10, 20, 30, 40, 50, 60, 70});
  const auto outcome = check(options(7));
  EXPECT_EQ(outcome.code, ExitCode::kSuccess);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("all: 7 runs of oc20, of which 5 consecutive ones make a result\n"),
                    HasSubstr("result_4.txt    5  2020-09-13 16:26:40       50  SUCCESS  1 to 3\n"),
                    HasSubstr("       2  2 to 6       40  to submit: its score is the median\n"),
                    HasSubstr("Submit window 2, 40 min: result_1.txt, result_2.txt, result_3.txt, "
                              "result_4.txt, result_5.txt.\n"),
                    HasSubstr("Keep all 7 logs")));
}

TEST_F(CheckRuns, TellsTheSameAsJson) {
  write("all", {10, 20, 30, 0, 50, 60});
  const json group = groups(6)["all"];
  EXPECT_EQ(group["problem"], nullptr);
  EXPECT_EQ(group["runs_required"], 5);
  ASSERT_EQ(group["runs"].size(), 6u);
  EXPECT_EQ(group["runs"][3]["log"], "all/result_3.txt");
  EXPECT_EQ(group["runs"][3]["verdict"], "FAIL");
  EXPECT_EQ(group["runs"][3]["time_to_train_min"], nullptr);
  EXPECT_EQ(group["runs"][5]["windows"], json({2}));
  EXPECT_EQ(group["runs"][1]["windows"], json({1, 2}));
  EXPECT_EQ(group["runs"][1]["launched_ms"], 1.6e12 + 3.6e6);
  ASSERT_EQ(group["windows"].size(), 2u);
  EXPECT_NEAR(group["windows"][0]["score_min"].get<double>(), 100.0 / 3.0, 1e-9);
  EXPECT_EQ(group["windows"][1]["logs"][0], "all/result_1.txt");
  EXPECT_EQ(group["chosen_window"], 2);
  EXPECT_EQ(group["median_windows"], json({1, 2}));
}

TEST_F(CheckRuns, ForgivesFailedRunsOfAGroupWithAWindow) {
  write("all", {10, 20, 0, 40, 50, 60});
  EXPECT_EQ(check(options(6)).code, ExitCode::kSuccess);
  CheckOptions without = options(6);
  without.runs.reset();
  EXPECT_EQ(check(without).code, ExitCode::kNonCompliant);
}

TEST_F(CheckRuns, FailsAGroupWhoseMedianIsInfinite) {
  write("all", {0, 0, 0, 40, 50, 60});
  const auto outcome = check(options(6));
  EXPECT_EQ(outcome.code, ExitCode::kNonCompliant);
  EXPECT_THAT(outcome.out, HasSubstr("the median of their scores is infinite"));
  EXPECT_EQ(groups(6)["all"]["chosen_window"], nullptr);
  CheckOptions junit = options(6);
  junit.junit = folder_.path() / "found.xml";
  check(junit);
  std::ifstream in(junit.junit);
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(in), {}),
              HasSubstr("the median of the scores of all 2 windows is infinite"));
}

TEST_F(CheckRuns, IsIncompleteWithoutTheLogsOfAllRuns) {
  write("all", {10, 20, 30, 40, 50, 60});
  const auto outcome = check(options(7));
  EXPECT_EQ(outcome.code, ExitCode::kIncomplete);
  EXPECT_THAT(outcome.out, HasSubstr("all: no runs chosen: expected the logs of 7 runs, found 6"));
  EXPECT_EQ(check(options(5)).code, ExitCode::kIncomplete);  // which five of the six is not known
}

TEST_F(CheckRuns, WarnsOfNoRunsThatAreTheWindowToSubmit) {
  write("all", {10, 20, 30, 40, 50, 60, 70});
  write("sent", {20, 30, 40, 50, 60}, 1);
  EXPECT_EQ(check(options(7)).code, ExitCode::kSuccess);
  EXPECT_THAT(audit_of("sent", 7), IsEmpty());
  EXPECT_EQ(groups(7)["all"]["picked"],
            json::parse(R"([{"folder": "sent", "runs": [2, 3, 4, 5, 6], "window": 2}])"));
}

TEST_F(CheckRuns, WarnsOfAnotherWindow) {
  write("all", {10, 20, 30, 40, 50, 60, 70});
  write("sent", {10, 20, 30, 40, 50});
  EXPECT_EQ(check(options(7)).code, ExitCode::kSuccess);
  const json told = audit_of("sent", 7);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0]["rule"], "window-not-median");
  EXPECT_EQ(told[0]["severity"], "warning");
  EXPECT_EQ(told[0]["text"],
            "window 1 of the 3 in all, 30 min; expected window 2, 40 min, the median");
}

TEST_F(CheckRuns, WarnsOfRunsThatDoNotFollowEachOther) {
  write("all", {10, 20, 30, 40, 50, 60, 70});
  write("sent", {10, 20, 30, 40});
  folder_.write("sent/result_9.txt", run_of(6, 70));
  const json told = audit_of("sent", 7);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0]["rule"], "runs-not-consecutive");
  EXPECT_EQ(told[0]["text"],
            "runs 1, 2, 3, 4, 7 of the 7 in all, by launch; expected 5 that follow each other");
}

TEST_F(CheckRuns, TakesAFolderOfOtherRunsForAGroupOfItsOwn) {
  write("all", {10, 20, 30, 40, 50, 60, 70});
  write("other", {10, 20, 30, 40, 50}, 40);
  EXPECT_EQ(check(options(7)).code, ExitCode::kIncomplete);
  EXPECT_EQ(groups(7)["other"]["problem"], "expected the logs of 7 runs, found 5");
}

TEST_F(CheckRuns, TestsTheConvergenceOfTheWindowAloneAndNormalisesItsScore) {
  for (const double epoch : {1.0, 20.0}) {  // of the runs outside the window
    for (int i = 0; i < 7; ++i) {
      const bool is_outside = i == 0 || i == 6;
      folder_.write("all/result_" + std::to_string(i) + ".txt",
                    run_of(i, 10.0 * (i + 1), is_outside ? epoch : 19.5));
    }
    CheckOptions with_rcp = options(7);
    with_rcp.rcp = true;
    with_rcp.json = "-";
    const json found = json::parse(check(with_rcp).out);
    EXPECT_EQ(found["sets"]["all"]["rcp"]["passed"], true);
    EXPECT_DOUBLE_EQ(found["sets"]["all"]["rcp"]["submission_mean"], 19.5);
    const json factor = found["run_groups"]["folders"]["all"]["normalization"];
    EXPECT_GT(factor.get<double>(), 1.0);
    EXPECT_EQ(factor, found["sets"]["all"]["rcp"]["normalization"]);
    with_rcp.json = "";
    EXPECT_THAT(check(with_rcp).out, HasSubstr("min, normalised by "));
  }
}

TEST_F(CheckRuns, LeavesOutThroughputRuns) {
  write("hpc/weak/oc20", {10, 20, 30, 40, 50, 60});
  write("hpc/strong/oc20", {10, 20, 30, 40, 50, 60}, 20);
  EXPECT_THAT(groups(6).items().begin().key(), "hpc/strong/oc20");
  EXPECT_EQ(groups(6).size(), 1u);
}

TEST_F(CheckRuns, NeedsFoldersAndNoSubmission) {
  CheckOptions with_submission = options(6);
  with_submission.submission = true;
  EXPECT_THAT(refusal(with_submission), HasSubstr("--runs needs a PATH, and no --submission"));
  CheckOptions input = checking::reading({"-"});
  input.runs = 6;
  EXPECT_THAT(refusal(input), HasSubstr("need folders, got standard input"));
  CheckOptions none = options(0);
  EXPECT_EQ(refusal(none), "usage: check: --runs: expected at least 1, got 0");
}

}  // namespace
