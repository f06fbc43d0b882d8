// The command `check` on submissions, and its test of convergence.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "analysis/command/checked_submission.h"
#include "analysis/submission/power_logs.h"
#include "runner/base/content.h"

namespace {

using analysis::command::CheckOptions;
using base::ExitCode;
using checking::check;
using checking::log_of;
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

using CheckSubmission = checking::CheckedSubmission;

TEST_F(CheckSubmission, PassesAWholeOne) {
  const Outcome outcome = check(options());
  EXPECT_EQ(outcome.code, ExitCode::kSuccess) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("us/results/demo/strong/oc20: 5 runs, 5 required, 0 failed; "
                                     "score 1.00 min, normalised by 1.00424 from 1 min; "
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
  EXPECT_EQ(folder["raw_score_min"], 1.0);
  EXPECT_EQ(folder["score_factor"], folder["rcp"]["normalization"]);
  EXPECT_GT(folder["score_factor"], 1.0);
  EXPECT_EQ(folder["score_min"], folder["score_factor"]);
  for (const char* const name : {"raw_score_min", "score_factor", "score_min"}) {
    EXPECT_TRUE(submission["definitions"].contains(name)) << name;
  }
  const json& rcp = folder["rcp"];
  EXPECT_EQ(rcp["outcome"], "found");
  EXPECT_EQ(rcp["passed"], true);
  EXPECT_EQ(rcp["batch_size"], 256.0);
  EXPECT_EQ(rcp["era"], "head");
  EXPECT_THAT(rcp["source"], HasSubstr("mlcommons/logging"));
  EXPECT_GT(rcp["p_value"].get<double>(), 0.05);
  EXPECT_LT(rcp["reference"]["interval"][0], rcp["reference"]["interval"][1]);
  EXPECT_TRUE(std::any_of(
      submission["findings"].begin(), submission["findings"].end(),
      [](const json& one) { return one["rule"] == "rcp.passed" && one["severity"] == "note"; }));
}

TEST_F(CheckSubmission, TellsTheEnergyOfFoldersWithPower) {
  EXPECT_THAT(check(options()).out, Not(HasSubstr("energy")));
  EXPECT_TRUE(
      checked(options())["submission"]["folders"][SubmissionTree::kFolder]["energy"].is_null());
  const auto power = golden::readings(60, [](int) { return 500.0; });
  for (int i = 0; i < 5; ++i) {
    const std::string folder = fmt::format("{}/power/result_{}/", SubmissionTree::kFolder, i);
    tree_.write(folder + "node_0.txt", golden::node_log(power, "0.9"));
    tree_.write(folder + "sw_0.txt", golden::switch_log(50));
  }
  // 0.9 * 500 W and 50 W, in each of the runs of 60 s.
  const Outcome outcome = check(options());
  EXPECT_EQ(outcome.code, ExitCode::kSuccess) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("\n  energy 30000 J: mean of 3 of 5 runs by time\n"));
  const json submission = checked(options())["submission"];
  const json& energy = submission["folders"][SubmissionTree::kFolder]["energy"];
  EXPECT_DOUBLE_EQ(energy["energy_j"].get<double>(), 30000.0);
  EXPECT_EQ(submission["definitions"]["energy.energy_j"]["unit"], "J");
  const json& run = energy["runs"]["result_4.txt"];
  EXPECT_DOUBLE_EQ(run["power_w"].get<double>(), 500.0);
  EXPECT_DOUBLE_EQ(run["logs"]["node_0.txt"]["measured_s"].get<double>(), 60.0);
  for (const auto& [name, value] : run["logs"]["sw_0.txt"].items()) {
    EXPECT_TRUE(submission["definitions"].contains("energy.logs." + name)) << name;
  }
}

TEST_F(CheckSubmission, WarnsOfPowerLogsWithoutEnergy) {
  for (int i = 0; i < 5; ++i) {
    const std::string folder = fmt::format("{}/power/result_{}/", SubmissionTree::kFolder, i);
    tree_.write(folder + "node_0.txt", i == 1 ? "" : golden::switch_log(50));
  }
  const Outcome outcome = check(options());
  EXPECT_EQ(outcome.code, ExitCode::kSuccess) << outcome.out;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("\n  energy: no mean, known of 0 in 5 runs\n"),
                                 HasSubstr("power/result_0/node_0.txt: warning: no energy: "
                                           "expected one power_measurement_start, found 0 "
                                           "[power.log]\n")));
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

/// Makes a folder the working directory until the end of a test.
class InFolder {
 public:
  explicit InFolder(const std::filesystem::path& folder) { std::filesystem::current_path(folder); }
  ~InFolder() { std::filesystem::current_path(before_); }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  std::filesystem::path before_ = std::filesystem::current_path();
};

TEST_F(CheckSubmission, GivesTheSameVerdictHoweverItsPathIsSpelled) {
  std::filesystem::rename(tree_.path("us"), tree_.path("our lab"));
  const std::string root = tree_.path().string();
  const InFolder inside(tree_.path("our lab/results"));
  for (const std::string& path :
       {root, root + "/", root + "/our lab", root + "/our lab/", root + "/our lab/results/..",
        std::string(".."), std::string("../."), std::string("../..")}) {
    CheckOptions spelled = options();
    spelled.paths = {path};
    const Outcome outcome = check(spelled);
    EXPECT_EQ(outcome.code, ExitCode::kNonCompliant) << path;
    EXPECT_THAT(outcome.out, HasSubstr("its name 'our lab' holds a blank [repo.name]")) << path;
  }
  const InFolder above(tree_.path("our lab"));
  CheckOptions here = options();
  here.paths = {"."};
  EXPECT_EQ(check(here).code, ExitCode::kNonCompliant);
}

TEST_F(CheckSubmission, NamesASetOfLogsThatAreNamedOneByOne) {
  const InFolder inside(tree_.path(SubmissionTree::kFolder));
  CheckOptions logs = folder_options();
  logs.paths = {"result_0.txt", "result_1.txt", "result_2.txt", "result_3.txt", "result_4.txt"};
  EXPECT_THAT(check(logs).out, HasSubstr("\noc20: convergence SUCCESS"));
  logs.paths = {"."};
  EXPECT_THAT(check(logs).out, HasSubstr("\noc20: convergence SUCCESS"));
}

/// A reader that goes away at once.
class ClosedStream : public std::ostream {
 public:
  ClosedStream() : std::ostream(nullptr) {}
};

TEST_F(CheckSubmission, WritesItsFilesThoughNobodyReadsTheText) {
  CheckOptions to_files = options();
  const base::TemporaryDirectory outside;
  to_files.json = (outside.path() / "check.json").string();
  ClosedStream out;
  std::ostringstream people;
  EXPECT_THROW(analysis::command::check(to_files, out, people, 80), base::SystemError);
  EXPECT_TRUE(std::filesystem::exists(to_files.json));
}

TEST_F(CheckSubmission, FindsItsRoundInTheFirstLog) {
  CheckOptions undecided = options();
  undecided.round = "";
  const json submission = checked(undecided)["submission"];
  EXPECT_THAT(submission["why_this_round"],
              testing::StartsWith("as chosen by us/results/demo/strong/oc20/result_0.txt: "));
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
    return result["ruleId"] == "system.missing" &&
           place.get<std::string>().ends_with("/us/results/demo");
  }));
  EXPECT_THAT(base::content(writing.junit), AllOf(HasSubstr("tests=\"7\" failures=\"1\""),
                                                  HasSubstr("/us/results\" name=\"demo\">")));
}

TEST_F(CheckSubmission, NeverWritesIntoWhatItReads) {
  CheckOptions writing = options();
  writing.json = tree_.path("us/systems/demo.json").string();
  const std::string before = base::content(writing.json);
  EXPECT_THAT(refusal(writing), HasSubstr("which is read"));
  EXPECT_EQ(base::content(writing.json), before);
  writing.json = "";
  writing.sarif = (tree_.path() / "us" / ".." / "new.sarif").string();
  EXPECT_THAT(refusal(writing), HasSubstr("which is read"));
  EXPECT_FALSE(std::filesystem::exists(tree_.path("new.sarif")));
}

TEST_F(CheckSubmission, WantsOneFolderWithASubmission) {
  CheckOptions two = options();
  two.paths.push_back("another");
  EXPECT_THAT(refusal(two), HasSubstr("usage: check --submission: expected one PATH, got 2"));
  CheckOptions other = options();
  other.paths = {"-"};
  EXPECT_THAT(refusal(other), HasSubstr("need folders, got standard input"));
  other.paths = {tree_.path("missing").string()};
  Outcome outcome = check(other);
  EXPECT_EQ(outcome.code, ExitCode::kData);
  EXPECT_THAT(outcome.people, HasSubstr("missing: no such file or folder"));
  other.paths = {tree_.path("us/systems/demo.json").string()};
  outcome = check(other);
  EXPECT_EQ(outcome.code, ExitCode::kData);
  EXPECT_THAT(outcome.people, HasSubstr("expected the folder of a submission, found a file"));
  const base::TemporaryDirectory empty;
  other.paths = {empty.path().string()};
  outcome = check(other);
  EXPECT_EQ(outcome.code, ExitCode::kNonCompliant);
  EXPECT_THAT(outcome.out, HasSubstr("[package.no-submission]"));
  other.round = "";
  EXPECT_THAT(refusal(other), HasSubstr("holds no log that tells its round; expected --round"));
}

TEST_F(CheckSubmission, SaysWhatItDidNotCheckOrRead) {
  tree_.remove("us/systems/demo.json");
  tree_.write("us/package_checker_params", "rcp-bypass");
  EXPECT_THAT(check(options()).out,
              AllOf(HasSubstr("seeds and convergence are not checked"),
                    HasSubstr("package_checker_params: warning: has no effect here")));
}

TEST_F(CheckSubmission, JudgesSubmissionsOfOneRoundEachForItself) {
  tree_.write("them/systems/other.json", golden::description());
  tree_.write("them/results/other/strong/oc20/result_0.txt", log_of(20, "1"));
  const Outcome outcome = check(options());
  EXPECT_EQ(outcome.code, ExitCode::kNonCompliant);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("\nus: SUCCESS, 0 errors"), HasSubstr("\nthem: FAIL, ")));
  const json submissions = checked(options())["submission"]["submissions"];
  EXPECT_EQ(submissions["us"]["verdict"], "SUCCESS");
  EXPECT_EQ(submissions["them"]["verdict"], "FAIL");
}

TEST_F(CheckSubmission, RefusesSeveralRoundsAtOnce) {
  const base::TemporaryDirectory rounds;
  for (const char* const round : {"hpc_v2.0", "hpc_v3.0"}) {
    rounds.write(std::string(round) + "/us/results/demo/strong/oc20/result_0.txt", log_of(20, "1"));
  }
  CheckOptions both = options();
  both.paths = {rounds.path().string()};
  both.round = "";
  EXPECT_THAT(refusal(both), HasSubstr("holds submissions of several rounds (hpc-2.0, hpc-3.0)"));
}

TEST_F(CheckSubmission, FailsInJunitExactlyWhereItFails) {
  const base::TemporaryDirectory folder;
  CheckOptions writing = options();
  writing.junit = (folder.path() / "out.xml").string();
  check(writing);
  EXPECT_THAT(base::content(writing.junit), HasSubstr("tests=\"6\" failures=\"0\""));
  write_run(3, log_of(20, "103") + ":::MLLOG {\n");
  writing.seed_checker_bypass = true;
  EXPECT_EQ(check(writing).code, ExitCode::kSuccess) << "one failing run is forgiven";
  EXPECT_THAT(base::content(writing.junit), HasSubstr("failures=\"0\""));
  write_run(3, log_of(20, "102"));
  writing.seed_checker_bypass = false;
  EXPECT_EQ(check(writing).code, ExitCode::kNonCompliant) << "a seed occurs twice";
  EXPECT_THAT(base::content(writing.junit), HasSubstr("failures=\"1\""));
}

TEST_F(CheckSubmission, TestsTheConvergenceOfAFolderAlone) {
  const Outcome outcome = check(folder_options());
  EXPECT_EQ(outcome.code, ExitCode::kSuccess) << outcome.out;
  EXPECT_THAT(outcome.out,
              HasSubstr("oc20: convergence SUCCESS: found: reference point at batch size "
                        "256: reference mean "));
  write_runs(10.0);
  const Outcome fast = check(folder_options());
  EXPECT_EQ(fast.code, ExitCode::kNonCompliant);
  EXPECT_THAT(fast.out, HasSubstr("faster than chance allows; to pass, the mean must rise by"));
  CheckOptions bypassing = folder_options();
  bypassing.rcp_bypass = true;
  EXPECT_EQ(check(bypassing).code, ExitCode::kSuccess);
}

TEST_F(CheckSubmission, TakesPointsOfTheUsersPrunedOrAll) {
  const base::TemporaryDirectory folder;
  CheckOptions custom = folder_options();
  // 512 converges faster than 256, so 256 is pruned. Then runs at 256 are below the smallest point,
  // and with 20 epochs they are slow enough for it, and pass.
  custom.custom_rcps =
      folder.write("rcps.json", R"({"a": {"Benchmark": "oc20", "BS": 256, "Epochs to converge": )"
                                R"([29, 30, 31, 30, 29, 30, 31, 30, 29, 31]},)"
                                R"("b": {"Benchmark": "oc20", "BS": 512, "Epochs to converge": )"
                                R"([19, 20, 19, 20, 19, 20, 19, 20, 19, 20]}})");
  const Outcome pruned = check(custom);
  EXPECT_EQ(pruned.code, ExitCode::kSuccess) << pruned.out;
  EXPECT_THAT(pruned.out, AllOf(HasSubstr("slower convergence on a smaller batch size"),
                                HasSubstr("is pruned, because others converge faster")));
  custom.rcp_points = "all";
  EXPECT_EQ(check(custom).code, ExitCode::kNonCompliant);
  custom.custom_rcps = folder.write("broken.json", "[");
  EXPECT_THAT(refusal(custom), AllOf(HasSubstr("usage: "), HasSubstr("broken.json")));
}

TEST_F(CheckSubmission, KnowsErasOfTheTest) {
  CheckOptions points;
  points.rcps = "deepcam";
  points.json = "-";
  const auto pruned = [&] {
    const json list = json::parse(check(points).out)["points"];
    return std::count_if(list.begin(), list.end(), [](const json& one) { return one["pruned"]; });
  };
  EXPECT_GT(pruned(), 0);
  points.rcp_era = "1.0";
  EXPECT_EQ(pruned(), 0) << "the first rounds did not prune";
  points.rcp_era = "2030";
  EXPECT_THAT(refusal(points), HasSubstr("--rcp-era: expected one of head, 2024a, 2022, 1.0, got"));
}

TEST_F(CheckSubmission, TellsWhereTheTestTakesAFigureFromAnOddRecord) {
  const std::string odd =
      log_of(19, "100") + made::text_of(made::Line{"note", "512", R"({"x": "global_batch_size"})"});
  write_run(0, odd);
  EXPECT_THAT(check(folder_options()).out, HasSubstr("[rcp.odd-record]"));
}

TEST_F(CheckSubmission, SaysWhenThereIsNothingToCompareWith) {
  const base::TemporaryDirectory folder;
  CheckOptions none = folder_options();
  none.custom_rcps = folder.write("rcps.json", "{}");
  const Outcome outcome = check(none);
  EXPECT_THAT(outcome.out, HasSubstr("convergence not tested: no reference convergence points"));
  EXPECT_EQ(outcome.code, ExitCode::kIncomplete);
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

}  // namespace
