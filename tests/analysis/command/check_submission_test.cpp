// The command `check` on submissions, and its test of convergence.
// Hides logs that keep the rules of their round.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/submission/submission_tree.h"
#include "checking.h"
#include "runner/base/content.h"

namespace {

using analysis::command::CheckOptions;
using base::ExitCode;
using checking::check;
using checking::Outcome;
using checking::reading;
using checking::refusal;
using golden::SubmissionTree;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// oc20 at batch size 256 in HPC 3.0, converged in that epoch; every rule is kept.
std::string log_of(double epoch, const std::string& seed) {
  static const auto rules = made::rules_of("hpc", "3.0");
  made::Log log = made::good_log(rules, {"closed", "oc20", "", ""});
  const golden::MadeLog defaults;
  for (made::Line& line : log) {
    if (line.key == "global_batch_size") line.value = fmt::format("{}", defaults.batch_size);
    if (line.key == "number_of_nodes") line.value = std::to_string(defaults.nodes);
    if (line.key == "accelerators_per_node") line.value = "0";
    if (line.key == "submission_status") line.value = "\"onprem\"";
    if (line.key == "eval_error") {
      line.value = "0.03";
      line.metadata = fmt::format(R"({{"epoch_num": {}}})", epoch);
    }
    if (line.key == "run_stop") line.metadata = R"({"status": "success"})";
  }
  log.insert(log.begin() + 1, {"seed", seed, R"({"file": "train.py", "lineno": 7})"});
  return made::text_of(log);
}

class CheckSubmission : public testing::Test {
 protected:
  CheckSubmission() { write_runs(20.0); }
  /// Five runs around that epoch.
  void write_runs(double epoch) {
    for (int i = 0; i < 5; ++i) {
      write_run(i, log_of(epoch + (i % 3) - 1.0, std::to_string(100 + i)));
    }
  }
  void write_run(int number, const std::string& text) {
    tree_.write(fmt::format("{}/result_{}.txt", SubmissionTree::kFolder, number), text);
  }
  CheckOptions options() const {
    CheckOptions options = reading({tree_.path().string()});
    options.round = "hpc-3.0";
    options.submission = true;
    return options;
  }
  json checked(CheckOptions options) const {
    options.json = "-";
    return json::parse(check(options).out);
  }
  CheckOptions folder_options() const {
    CheckOptions options = reading({tree_.path(SubmissionTree::kFolder).string()});
    options.round = "hpc-3.0";
    options.rcp = true;
    return options;
  }

  SubmissionTree tree_;
};

TEST_F(CheckSubmission, PassesAWholeOne) {
  const Outcome outcome = check(options());
  EXPECT_EQ(outcome.code, ExitCode::kSuccess) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("us/results/demo/strong/oc20: 5 runs of 5 required, 0 failed; "
                                     "convergence SUCCESS: found: reference point"));
  EXPECT_THAT(outcome.out, HasSubstr("submission: SUCCESS under hpc-3.0 (--round hpc-3.0"));
  EXPECT_THAT(outcome.out, HasSubstr("5 logs judged: 5 SUCCESS, 0 FAIL"));
}

TEST_F(CheckSubmission, TellsAllOfItInJson) {
  const json document = checked(options());
  EXPECT_EQ(document["files"].size(), 5u);
  const json& submission = document["submission"];
  EXPECT_EQ(submission["verdict"], "SUCCESS");
  EXPECT_EQ(submission["round"], "hpc-3.0");
  const json& folder = submission["folders"][SubmissionTree::kFolder];
  EXPECT_EQ(folder["runs"], 5);
  EXPECT_EQ(folder["runs_required"], 5);
  EXPECT_EQ(folder["scaling"], "strong");
  EXPECT_THAT(folder["failing_runs"], IsEmpty());
  const json& rcp = folder["rcp"];
  EXPECT_EQ(rcp["outcome"], "found");
  EXPECT_EQ(rcp["passed"], true);
  EXPECT_EQ(rcp["batch_size"], 256.0);
  EXPECT_GT(rcp["p_value"].get<double>(), 0.05);
  EXPECT_LT(rcp["reference"]["interval"][0], rcp["reference"]["interval"][1]);
  EXPECT_TRUE(std::any_of(
      submission["findings"].begin(), submission["findings"].end(),
      [](const json& one) { return one["rule"] == "rcp.passed" && one["severity"] == "note"; }));
}

TEST_F(CheckSubmission, ForgivesOneFailingRunOfAFolderAndNoMore) {
  write_run(3, "");
  const Outcome one = check(options());
  EXPECT_EQ(one.code, ExitCode::kNonCompliant) << "its seed is missing too";
  write_run(3, log_of(20, "103") + ":::MLLOG {\n");
  CheckOptions forgiving = options();
  forgiving.seed_checker_bypass = true;
  const Outcome dropped = check(forgiving);
  EXPECT_EQ(dropped.code, ExitCode::kSuccess) << dropped.out;
  EXPECT_THAT(dropped.out, AllOf(HasSubstr("1 failed"), HasSubstr("[package.dropped-run]"),
                                 HasSubstr("5 logs judged: 4 SUCCESS, 1 FAIL")));
  write_run(4, log_of(20, "104") + ":::MLLOG {\n");
  const Outcome two = check(forgiving);
  EXPECT_EQ(two.code, ExitCode::kNonCompliant);
  EXPECT_THAT(two.out, HasSubstr("[package.failing-runs]"));
}

TEST_F(CheckSubmission, FailsForWhatOnlyTheWholeShows) {
  tree_.remove("us/systems/demo.json");
  const Outcome outcome = check(options());
  EXPECT_EQ(outcome.code, ExitCode::kNonCompliant);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("[system.missing]"), HasSubstr("submission: FAIL"),
                                 HasSubstr("5 SUCCESS, 0 FAIL")));
}

TEST_F(CheckSubmission, FindsItsRoundInTheFirstLog) {
  CheckOptions undecided = options();
  undecided.round = "";
  const json submission = checked(undecided)["submission"];
  EXPECT_THAT(submission["why_this_round"], HasSubstr("is a benchmark of hpc"));
  EXPECT_THAT(submission["why_this_round"],
              HasSubstr("; asked us/results/demo/strong/oc20/result_0.txt"));
}

TEST_F(CheckSubmission, GivesItsFindingsToOtherPrograms) {
  tree_.remove("us/systems/demo.json");
  const base::TemporaryDirectory folder;
  CheckOptions writing = options();
  writing.sarif = (folder.path() / "out.sarif").string();
  writing.junit = (folder.path() / "out.xml").string();
  check(writing);
  const json run = json::parse(base::content(writing.sarif))["runs"][0];
  EXPECT_TRUE(std::any_of(run["results"].begin(), run["results"].end(), [](const json& result) {
    const json& place = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    return result["ruleId"] == "system.missing" && place == "us/results/demo";
  }));
  EXPECT_THAT(base::content(writing.junit),
              AllOf(HasSubstr("tests=\"7\" failures=\"1\""),
                    HasSubstr("<testcase classname=\"us/results\" name=\"demo\">")));
}

TEST_F(CheckSubmission, NeverWritesIntoWhatItReads) {
  CheckOptions writing = options();
  writing.json = tree_.path("us/systems/demo.json").string();
  const std::string before = base::content(writing.json);
  EXPECT_THAT(refusal(writing), HasSubstr("lies in the submission that is read"));
  EXPECT_EQ(base::content(writing.json), before);
}

TEST_F(CheckSubmission, WantsOneFolderWithASubmission) {
  CheckOptions two = options();
  two.paths.push_back("another");
  EXPECT_THAT(refusal(two), HasSubstr("usage: check --submission: expected one PATH, got 2"));
  const base::TemporaryDirectory empty;
  CheckOptions none = options();
  none.paths = {empty.path().string()};
  const Outcome outcome = check(none);
  EXPECT_EQ(outcome.code, ExitCode::kData);
  EXPECT_THAT(outcome.people, HasSubstr("expected a folder with a submission, found no log"));
}

TEST_F(CheckSubmission, TestsTheConvergenceOfAFolderAlone) {
  const Outcome outcome = check(folder_options());
  EXPECT_EQ(outcome.code, ExitCode::kSuccess) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr(".: convergence SUCCESS: found: reference point at batch size "
                                     "256: reference mean "));
  write_runs(10.0);
  const Outcome fast = check(folder_options());
  EXPECT_EQ(fast.code, ExitCode::kNonCompliant);
  EXPECT_THAT(fast.out, HasSubstr("faster than chance allows; to pass, the mean must rise by"));
  CheckOptions bypassing = folder_options();
  bypassing.rcp_bypass = true;
  EXPECT_EQ(check(bypassing).code, ExitCode::kSuccess);
}

TEST_F(CheckSubmission, KnowsErasPointsAndPointsOfTheUsers) {
  write_runs(10.0);
  const base::TemporaryDirectory folder;
  CheckOptions custom = folder_options();
  custom.custom_rcps =
      folder.write("rcps.json", R"({"a": {"Benchmark": "oc20", "BS": 256, "Epochs to converge": )"
                                R"([9, 10, 11, 10, 9, 10, 11, 10, 9, 11]}})");
  EXPECT_EQ(check(custom).code, ExitCode::kSuccess);
  custom.custom_rcps = folder.write("broken.json", "[");
  EXPECT_THAT(refusal(custom), AllOf(HasSubstr("usage: "), HasSubstr("broken.json")));
  CheckOptions era = folder_options();
  era.rcp_era = "1.0";
  EXPECT_EQ(check(era).code, ExitCode::kNonCompliant);
  era.rcp_era = "2030";
  EXPECT_THAT(refusal(era), HasSubstr("--rcp-era: expected one of head, 2024a, 2022, 1.0, got"));
}

TEST_F(CheckSubmission, SaysWhenThereIsNothingToCompareWith) {
  CheckOptions old = folder_options();
  old.round = "hpc-0.7";
  old.quiet = true;
  const Outcome outcome = check(old);
  EXPECT_THAT(outcome.out, HasSubstr("convergence not tested: no reference convergence points"));
  EXPECT_EQ(outcome.code, ExitCode::kNonCompliant) << "oc20 is no benchmark of 0.7";
}

TEST_F(CheckSubmission, RefusesOptionsWithoutTheirTest) {
  for (const auto set : {+[](CheckOptions& o) { o.rcp_era = "head"; },
                         +[](CheckOptions& o) { o.rcp_points = "all"; },
                         +[](CheckOptions& o) { o.custom_rcps = "x"; },
                         +[](CheckOptions& o) { o.rcp_bypass = true; },
                         +[](CheckOptions& o) { o.seed_checker_bypass = true; }}) {
    CheckOptions plain = reading({"x"});
    set(plain);
    EXPECT_THAT(refusal(plain), AllOf(HasSubstr("usage: check: --"), HasSubstr("needs --")));
  }
}

TEST(CheckLists, ReferencePointsOfTheNewestRoundOrAnother) {
  CheckOptions options;
  options.rcps = "oc20";
  const Outcome outcome = check(options);
  EXPECT_EQ(outcome.code, ExitCode::kSuccess);
  EXPECT_THAT(outcome.out, HasSubstr("Reference points of hpc-3.0 for oc20"));
  options.json = "-";
  options.round = "hpc-1.0";
  const json document = json::parse(check(options).out);
  EXPECT_EQ(document["round"], "1.0");
  EXPECT_EQ(document["unit"], "epochs");
  ASSERT_EQ(document["points"].size(), 3u);
  // The mean of the ten published runs without the fastest and the slowest.
  EXPECT_DOUBLE_EQ(document["points"][0]["mean"], (18 + 19 + 19 + 20 + 20 + 20 + 21 + 21) / 8.0);
  EXPECT_EQ(document["points"][0]["batch_size"], 256.0);
  options.round = "hpc-0.7";
  EXPECT_THAT(refusal(options), HasSubstr("--rcps: no reference points for oc20 in hpc-0.7"));
  options.round = "";
  options.rcps = "nonsense";
  EXPECT_THAT(refusal(options), HasSubstr("there are some for cosmoflow, "));
}

}  // namespace
