// Each rule of the package check: one tree keeps all rules, others break one each.
#include "analysis/submission/package_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "analysis/submission/package_facts.h"
#include "analysis/submission/submission_tree.h"
#include "runner/base/temporary_directory.h"

namespace {

namespace fs = std::filesystem;
using namespace analysis::submission;
using golden::finding_of;
using golden::MadeLog;
using golden::rules_of;
using golden::SubmissionTree;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(PackageCheck, FindsNothingInATreeThatKeepsEveryRule) {
  const SubmissionTree tree;
  const PackageReport report = tree.check();
  EXPECT_TRUE(report.passes());
  EXPECT_THAT(rules_of(report), IsEmpty());
  EXPECT_THAT(rules_of(report, Severity::kNote), ElementsAre("rcp.passed"));
  ASSERT_EQ(report.sets.size(), 1u);
  EXPECT_EQ(report.sets[0].name, SubmissionTree::kFolder);
  EXPECT_EQ(report.sets[0].system, "demo");
  EXPECT_EQ(report.sets[0].benchmark, "oc20");
  EXPECT_EQ(report.sets[0].scaling, Scaling::kStrong);
  EXPECT_EQ(report.sets[0].runs, 5);
  EXPECT_EQ(report.sets[0].runs_required, 5);
  EXPECT_EQ(report.sets[0].rcp->outcome, RcpOutcome::kFound);
}

TEST(PackageCheck, WritesNothingIntoTheTree) {
  const SubmissionTree tree;
  MadeLog fast;
  fast.epoch = 19;  // the official checker would write its factor to scaling.json
  SubmissionTree scaled;
  scaled.write_runs(SubmissionTree::kFolder, fast, 5);
  for (const SubmissionTree* const one : {&tree, static_cast<const SubmissionTree*>(&scaled)}) {
    std::set<fs::path> before, after;
    for (const auto& entry : fs::recursive_directory_iterator(one->path())) before.insert(entry);
    one->check();
    for (const auto& entry : fs::recursive_directory_iterator(one->path())) after.insert(entry);
    EXPECT_EQ(before, after);
  }
}

TEST(PackageCheck, ReadsASubmissionByItself) {
  const SubmissionTree tree;
  const PackageReport report =
      check_package(read_package_tree(tree.path("us"), {"hpc", "3.0.0"}), {}, golden::read_log);
  EXPECT_TRUE(report.passes());
  ASSERT_EQ(report.sets.size(), 1u);
  EXPECT_EQ(report.sets[0].name, "results/demo/strong/oc20");
}

TEST(PackageCheck, ReadsTheLayoutWithoutScalingFolders) {
  SubmissionTree tree;
  MadeLog log;
  log.benchmark = "resnet";
  log.batch_size = 1632;
  log.epoch = 36;
  tree.have_only(log, 5);
  const PackageReport report = tree.check("training", "3.1");
  EXPECT_THAT(rules_of(report), IsEmpty());
  ASSERT_EQ(report.sets.size(), 1u);
  EXPECT_EQ(report.sets[0].scaling, Scaling::kNone);
}

TEST(PackageCheck, NeedsASubmission) {
  const base::TemporaryDirectory empty;
  const PackageReport report =
      check_package(read_package_tree(empty.path(), {"hpc", "3.0"}), {}, golden::read_log);
  EXPECT_THAT(rules_of(report), ElementsAre("package.no-submission"));
  EXPECT_FALSE(report.passes());
  const PackageReport absent = check_package(
      read_package_tree(empty.path() / "absent", {"hpc", "3.0"}), {}, golden::read_log);
  EXPECT_FALSE(absent.passes());
}

TEST(PackageCheck, NeedsResults) {
  SubmissionTree tree;
  tree.remove("us/results");
  EXPECT_THAT(rules_of(tree.check()), ElementsAre("package.no-results"));
}

TEST(PackageCheck, RefusesOtherFoldersThanStrongAndWeak) {
  SubmissionTree tree;
  tree.write("us/results/demo/oc20/result_0.txt", "");
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), ElementsAre("package.scaling-folder"));
  EXPECT_FALSE(report.passes());
  EXPECT_EQ(finding_of(report, "package.scaling-folder").path, "us/results/demo/oc20");
}

TEST(PackageCheck, LeavesOutBenchmarksOfOtherRounds) {
  SubmissionTree tree;
  tree.write("us/results/demo/strong/openfold/result_0.txt", "");
  const PackageReport report = tree.check("hpc", "2.0");
  EXPECT_THAT(rules_of(report), ElementsAre("package.unknown-benchmark"));
  EXPECT_TRUE(report.passes());
  EXPECT_EQ(report.sets.size(), 1u);
}

TEST(PackageCheck, TellsOfFilesThatTheLayoutDoesNotKnow) {
  for (const char* const stray :
       {"us/results/notes.txt", "us/results/demo/notes.txt", "us/results/demo/strong/notes.txt",
        "us/results/demo/strong/oc20/run_1.txt", "us/results/demo/strong/oc20/old/result_1.txt"}) {
    SubmissionTree tree;
    tree.write(stray, "");
    const PackageReport report = tree.check();
    EXPECT_THAT(rules_of(report), ElementsAre("package.stray-entry")) << stray;
    EXPECT_TRUE(report.passes()) << stray;
  }
}

TEST(PackageCheck, KnowsWhatToolsLeaveBesideResults) {
  SubmissionTree tree;
  for (const char* const known :
       {"compliance_1.out", "rcp_checker.log", "logs/a.log", "raw_logs/result_1.txt"}) {
    tree.write(SubmissionTree::kFolder + "/" + known, "");
  }
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), IsEmpty());
  EXPECT_EQ(report.sets[0].runs, 5);
}

TEST(PackageCheck, KnowsPrunedResultsOfThroughputRunsAlone) {
  SubmissionTree tree;
  tree.write_runs(SubmissionTree::kWeakFolder, MadeLog{}, 6);
  tree.write(SubmissionTree::kWeakFolder + "/pruned_results/result_9.txt", "");
  const PackageReport weak = tree.check();
  EXPECT_THAT(rules_of(weak), IsEmpty());
  EXPECT_EQ(weak.sets[1].runs, 6);
  tree.write(SubmissionTree::kFolder + "/pruned_results/result_9.txt", "");
  EXPECT_THAT(rules_of(tree.check()), ElementsAre("package.pruned-results"));
}

TEST(PackageCheck, CountsTheRunsExactly) {
  for (const int count : {4, 6}) {
    SubmissionTree tree;
    tree.remove(SubmissionTree::kFolder);
    tree.write_runs(SubmissionTree::kFolder, MadeLog{}, count);
    const PackageReport report = tree.check();
    EXPECT_THAT(rules_of(report), ElementsAre("package.file-count")) << count;
    EXPECT_THAT(finding_of(report, "package.file-count").finding.text,
                HasSubstr("expected 5 files result_*.txt, found " + std::to_string(count)));
  }
}

TEST(PackageCheck, TakesMoreThroughputRunsButNotFewer) {
  SubmissionTree tree;
  tree.write_runs(SubmissionTree::kWeakFolder, MadeLog{}, 4);
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), ElementsAre("package.file-count"));
  EXPECT_EQ(finding_of(report, "package.file-count").path, SubmissionTree::kWeakFolder);
}

TEST(PackageCheck, TakesNumberedNamesWithZeros) {
  SubmissionTree tree;
  fs::rename(tree.path(SubmissionTree::kFolder + "/result_0.txt"),
             tree.path(SubmissionTree::kFolder + "/result_05.txt"));
  EXPECT_THAT(rules_of(tree.check()), IsEmpty());
}

TEST(PackageCheck, ToleratesOneFailingRun) {
  SubmissionTree tree;
  tree.set_failing({"result_2.txt"});
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), ElementsAre("package.dropped-run"));
  EXPECT_TRUE(report.passes());
  EXPECT_THAT(report.sets[0].failing_runs, ElementsAre("result_2.txt"));
}

TEST(PackageCheck, RefusesTwoFailingRuns) {
  SubmissionTree tree;
  tree.set_failing({"result_2.txt", "result_4.txt"});
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), ElementsAre("package.failing-runs"));
  EXPECT_FALSE(report.passes());
}

TEST(PackageCheck, RunsTheRcpTest) {
  SubmissionTree tree;
  MadeLog fast;
  fast.epoch = 12;
  tree.write_runs(SubmissionTree::kFolder, fast, 5);
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), ElementsAre("rcp.failed"));
  EXPECT_FALSE(report.passes());
  EXPECT_THAT(finding_of(report, "rcp.failed").finding.text, HasSubstr("must rise by"));
}

TEST(PackageCheck, LeavesOpenSubmissionsAndOldRoundsWithoutRcpTest) {
  SubmissionTree tree;
  MadeLog fast;
  fast.epoch = 2;
  fast.division = "open";
  tree.write_runs(SubmissionTree::kFolder, fast, 5);
  tree.write("us/systems/demo.json", golden::description("division", "\"open\""));
  EXPECT_THAT(rules_of(tree.check()), IsEmpty());
  EXPECT_FALSE(tree.check().sets[0].rcp);
}

TEST(PackageCheck, WarnsOnlyWhereClosedIsSpeltWithACapital) {
  SubmissionTree tree;
  MadeLog fast;
  fast.epoch = 2;
  tree.write_runs(SubmissionTree::kFolder, fast, 5);
  tree.write("us/systems/demo.json", golden::description("division", "\"Closed\""));
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), ElementsAre("system.division", "rcp.failed"));
  EXPECT_TRUE(report.passes()) << "the official checker takes it for open";
}

TEST(PackageCheck, TellsOfLogsOfAnotherBenchmark) {
  SubmissionTree tree;
  MadeLog other;
  other.benchmark = "deepcam";
  other.epoch = 9;
  tree.write_runs(SubmissionTree::kFolder, other, 5);
  EXPECT_THAT(rules_of(tree.check()), ElementsAre("package.other-benchmark"));
}

TEST(PackageCheck, TakesOptionsWithLineEndsAndBlanks) {
  MadeLog fast;
  fast.epoch = 12;
  for (const char* const path : {"us/results/demo/package_checker_params",
                                 "us/results/demo/strong/oc20/package_checker_params"}) {
    SubmissionTree tree;
    tree.write_runs(SubmissionTree::kFolder, fast, 5);
    tree.write(path, "  rcp-bypass \r\n\n");
    const PackageReport report = tree.check();
    EXPECT_THAT(rules_of(report), ElementsAre("params.bypass", "rcp.passed")) << path;
    EXPECT_TRUE(report.passes()) << path;
    EXPECT_TRUE(report.sets[0].rcp->bypassed) << path;
  }
}

TEST(PackageCheck, TakesTheOptionsOfTheCommandLine) {
  SubmissionTree tree;
  MadeLog fast;
  fast.epoch = 12;
  tree.write_runs(SubmissionTree::kFolder, fast, 5);
  PackageOptions options;
  options.rcp.bypass = true;
  EXPECT_TRUE(tree.check("hpc", "3.0", options).passes());
}

TEST(PackageCheck, ComparesWithThePointsOfTheUser) {
  SubmissionTree tree;
  PackageOptions options;
  options.custom_points =
      tree.write("points.json",
                 R"({"a": {"Benchmark": "oc20", "BS": 256, "Epochs to converge": [29, 30, 31]}})");
  const PackageReport report = tree.check("hpc", "3.0", options);
  EXPECT_THAT(rules_of(report), ElementsAre("rcp.failed"));
  EXPECT_DOUBLE_EQ(report.sets[0].rcp->reference->test.mean, 30.0);
}

TEST(PackageCheck, TellsOfUnknownOptions) {
  SubmissionTree tree;
  tree.write(SubmissionTree::kFolder + "/package_checker_params", "\nrcp_bypass");
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), ElementsAre("params.unknown-option"));
  EXPECT_EQ(finding_of(report, "params.unknown-option").finding.line, 2);
  EXPECT_THAT(finding_of(report, "params.unknown-option").finding.text, HasSubstr("'rcp_bypass'"));
}

TEST(PackageCheck, WantsTheFactorOfTheRcpTestInScalingJson) {
  SubmissionTree tree;
  MadeLog fast;
  fast.epoch = 19;
  tree.write_runs(SubmissionTree::kFolder, fast, 5);
  const PackageReport absent = tree.check();
  EXPECT_THAT(rules_of(absent), ElementsAre("scaling.differs"));
  const double factor = absent.sets[0].rcp->normalization;
  EXPECT_GT(factor, 1.0);
  tree.write(SubmissionTree::kFolder + "/scaling.json",
             fmt::format("{{\"scaling_factor\": {}}}", factor));
  EXPECT_THAT(rules_of(tree.check()), IsEmpty());
  tree.write(SubmissionTree::kFolder + "/scaling.json", "{\"scaling_factor\": 1.5}");
  EXPECT_THAT(rules_of(tree.check()), ElementsAre("scaling.differs"));
}

TEST(PackageCheck, TellsTheRawScoreAndItsFactor) {
  SubmissionTree tree;
  MadeLog fast;
  fast.epoch = 19;
  fast.time_to_train_s = 90;
  tree.write_runs(SubmissionTree::kFolder, fast, 5);
  const PackageSet normalised = tree.check().sets[0];
  EXPECT_EQ(normalised.time_to_train_s, 90.0);
  EXPECT_EQ(normalised.score_factor(), normalised.rcp->normalization);
  EXPECT_GT(normalised.score_factor(), 1.0);
  tree.write(SubmissionTree::kFolder + "/scaling.json", "{\"scaling_factor\": 1.5}");
  EXPECT_EQ(tree.check().sets[0].score_factor(), 1.5) << "the file decides";
}

TEST(PackageCheck, GivesNoScoreToAWrongNumberOfRuns) {
  SubmissionTree tree;
  EXPECT_EQ(tree.check().sets[0].time_to_train_s, 60.0);
  tree.write_runs(SubmissionTree::kFolder, MadeLog{}, 6);
  EXPECT_FALSE(tree.check().sets[0].time_to_train_s);
}

TEST(PackageCheck, RefusesADamagedScalingJson) {
  for (const char* const text : {"", "[]", "{}", "{\"scaling_factor\": \"1\"}", "\xff"}) {
    SubmissionTree tree;
    tree.write(SubmissionTree::kFolder + "/scaling.json", text);
    const PackageReport report = tree.check();
    EXPECT_THAT(rules_of(report), ElementsAre("scaling.unreadable")) << text;
    EXPECT_FALSE(report.passes());
  }
}

TEST(PackageCheck, TellsOfFactorsBelowOne) {
  SubmissionTree tree;
  tree.write(SubmissionTree::kFolder + "/scaling.json", "{\"scaling_factor\": 0.99995}");
  EXPECT_THAT(rules_of(tree.check()), ElementsAre("scaling.factor"));
}

TEST(PackageCheck, TellsOfFactorsOfThroughput) {
  SubmissionTree tree;
  tree.write_runs(SubmissionTree::kWeakFolder, MadeLog{}, 5);
  tree.write(SubmissionTree::kWeakFolder + "/scaling.json", "{\"scaling_factor\": 1.0}");
  EXPECT_THAT(rules_of(tree.check()), ElementsAre("scaling.weak"));
}

TEST(PackageCheck, SurvivesNamesWithPlusBlankAndLineFeed) {
  SubmissionTree tree;
  fs::rename(tree.path("us"), tree.path("A+B C"));
  fs::create_directories(tree.path("A+B C/results/de mo\n+/strong/oc20"));
  const PackageReport report = tree.check();
  EXPECT_FALSE(report.passes());
  EXPECT_EQ(report.sets.size(), 2u);
  EXPECT_THAT(rules_of(report), Contains("repo.name"));
  EXPECT_THAT(rules_of(report), Contains("system.missing"));
}

TEST(PackageCheck, SurvivesFoldersAndLinksInPlaceOfFiles) {
  SubmissionTree tree;
  fs::create_directories(tree.path(SubmissionTree::kFolder + "/result_7.txt"));
  fs::create_directories(tree.path(SubmissionTree::kFolder + "/scaling.json"));
  fs::create_directories(tree.path(SubmissionTree::kFolder + "/package_checker_params"));
  fs::create_directories(tree.path("us/systems/other.json"));
  fs::create_directory_symlink("..", tree.path("us/results/demo/strong/loop"));
  fs::create_symlink("nowhere", tree.path(SubmissionTree::kFolder + "/result_8.txt"));
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), Contains("package.unreadable"));
  EXPECT_THAT(rules_of(report), Contains("repo.link"));
  EXPECT_FALSE(report.passes());
}

TEST(PackageCheck, SurvivesLogsThatAreNone) {
  SubmissionTree tree;
  for (int i = 0; i < 5; ++i)
    tree.write(fmt::format("{}/result_{}.txt", SubmissionTree::kFolder, i), "\0x");
  const PackageReport report = tree.check();
  EXPECT_FALSE(report.passes());
  EXPECT_EQ(report.sets[0].rcp->outcome, RcpOutcome::kNoBatchSize);
}

TEST(PackageCheck, ChecksEverySubmissionOfARound) {
  SubmissionTree tree;
  fs::copy(tree.path("us"), tree.path("them"), fs::copy_options::recursive);
  tree.remove("them/systems/demo.json");
  const PackageReport report = tree.check();
  EXPECT_EQ(report.sets.size(), 2u);
  EXPECT_THAT(rules_of(report), ElementsAre("system.missing", "package.not-judged"));
  EXPECT_EQ(finding_of(report, "system.missing").path, "them/results/demo");
}

TEST(PackageCheck, RefusesASubmissionOfNothing) {
  SubmissionTree tree;
  tree.remove(SubmissionTree::kFolder);
  tree.write("us/results/demo/strong/unheard_of/result_0.txt", "");
  const PackageReport report = tree.check();
  EXPECT_FALSE(report.passes());
  EXPECT_THAT(rules_of(report), testing::Contains("package.nothing-judged"));
}

}  // namespace
