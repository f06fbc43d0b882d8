// Seeds, power and repository rules, each broken alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "analysis/submission/power_logs.h"
#include "analysis/submission/submission_tree.h"

namespace {

namespace fs = std::filesystem;
using namespace analysis::submission;
using golden::description;
using golden::finding_of;
using golden::MadeLog;
using golden::rules_of;
using golden::SubmissionTree;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Run 1 with its seed record replaced by `text`.
SubmissionTree& with_seed(SubmissionTree& tree, const std::string& text) {
  const std::string with = golden::log_text(MadeLog{});
  const std::size_t begin = with.find(":::MLLOG", with.find("global_batch_size"));
  const std::size_t end = with.find('\n', begin) + 1;
  tree.write(SubmissionTree::kFolder + "/result_1.txt",
             with.substr(0, begin) + text + with.substr(end));
  return tree;
}

std::string seed(const std::string& value) {
  return golden::record("seed", value, R"({"file": "train.py", "lineno": 7})");
}

TEST(SeedCheck, NeedsASeedInEachLog) {
  SubmissionTree tree;
  const PackageReport report = with_seed(tree, "").check();
  EXPECT_THAT(rules_of(report), ElementsAre("seed.missing"));
  EXPECT_EQ(finding_of(report, "seed.missing").path, SubmissionTree::kFolder + "/result_1.txt");
  EXPECT_FALSE(report.passes());
}

TEST(SeedCheck, NeedsIntegers) {
  for (const char* const value : {"null", "\"abc\"", "[]", "\"\"", "\"1.5\"", "NaN"}) {
    SubmissionTree tree;
    const PackageReport report = with_seed(tree, seed(value)).check();
    EXPECT_THAT(rules_of(report), ElementsAre("seed.no-integer")) << value;
    EXPECT_EQ(finding_of(report, "seed.no-integer").finding.line, 7) << value;
  }
}

TEST(SeedCheck, TakesWhatPythonTakesForAnInteger) {
  for (const char* const value : {"-5", "2.7", "\" 17 \"", "true", "123456789012345678901234"}) {
    SubmissionTree tree;
    EXPECT_THAT(rules_of(with_seed(tree, seed(value)).check()), IsEmpty()) << value;
  }
}

TEST(SeedCheck, NeedsThePlaceOfTheSeed) {
  for (const char* const metadata : {"{}", R"({"file": "a"})", R"({"lineno": 1})", "\"\""}) {
    SubmissionTree tree;
    const PackageReport report = with_seed(tree, golden::record("seed", "5", metadata)).check();
    EXPECT_THAT(rules_of(report), ElementsAre("seed.no-place")) << metadata;
  }
}

TEST(SeedCheck, RefusesASeedOfAnotherRun) {
  SubmissionTree tree;
  const PackageReport report = with_seed(tree, seed("103")).check();
  EXPECT_THAT(rules_of(report), ElementsAre("seed.repeated"));
  EXPECT_THAT(finding_of(report, "seed.repeated").finding.text,
              HasSubstr("103 at train.py:7 was already logged by result_1.txt"));
  EXPECT_EQ(finding_of(report, "seed.repeated").path, SubmissionTree::kFolder + "/result_3.txt");
}

TEST(SeedCheck, RefusesEqualSeedsHoweverTheyAreWritten) {
  SubmissionTree tree;
  EXPECT_THAT(rules_of(with_seed(tree, seed("\"0103\"")).check()), ElementsAre("seed.repeated"));
}

TEST(SeedCheck, TakesTheSameSeedOnAnotherLine) {
  SubmissionTree tree;
  const std::string elsewhere =
      golden::record("seed", "103", R"({"file": "train.py", "lineno": 8})");
  EXPECT_THAT(rules_of(with_seed(tree, elsewhere).check()), IsEmpty());
}

TEST(SeedCheck, RefusesARepeatedRecordAndNotesSeveralSeeds) {
  SubmissionTree tree;
  EXPECT_THAT(rules_of(with_seed(tree, seed("5") + seed("5")).check()),
              ElementsAre("seed.repeated"));
  const PackageReport two = with_seed(tree, seed("5") + seed("6")).check();
  EXPECT_THAT(rules_of(two), IsEmpty());
  EXPECT_THAT(rules_of(two, Severity::kNote), Contains("seed.several"));
}

TEST(SeedCheck, TrustsNoLogWithMalformedRecords) {
  SubmissionTree tree;
  const PackageReport report = with_seed(tree, seed("5") + ":::MLLOG {\n").check();
  EXPECT_THAT(rules_of(report), ElementsAre("seed.unreadable"));
  EXPECT_EQ(finding_of(report, "seed.unreadable").finding.line, 8);
}

TEST(SeedCheck, IsBypassedButStillTold) {
  SubmissionTree tree;
  tree.write(SubmissionTree::kFolder + "/package_checker_params", "seed-checker-bypass\n");
  const PackageReport report = with_seed(tree, "").check();
  EXPECT_TRUE(report.passes());
  EXPECT_THAT(rules_of(report), ElementsAre("params.bypass", "seed.missing"));
}

TEST(SeedCheck, IsNotMadeInOpenAndBeforeRoundOne) {
  SubmissionTree tree;
  MadeLog open;
  open.division = "open";
  for (int i = 0; i < 5; ++i) tree.write_run(i, open);
  tree.write(SubmissionTree::kDescription, description("division", "\"open\""));
  EXPECT_THAT(rules_of(tree.check()), IsEmpty());
}

TEST(SeedCheck, NotesSeedsOfAnotherFolder) {
  SubmissionTree tree;
  tree.write("us/systems/other.json", description());
  tree.write_runs("us/results/other/strong/oc20", MadeLog{}, 5);
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), IsEmpty());
  EXPECT_THAT(rules_of(report, Severity::kNote), Contains("seed.same-in-other-folder").Times(1));
}

TEST(Layout, NotesThatThereIsNoSourceCode) {
  SubmissionTree tree;
  tree.remove("us/benchmarks");
  EXPECT_THAT(rules_of(tree.check()), IsEmpty());
  EXPECT_THAT(rules_of(tree.check(), Severity::kNote), Contains("package.no-benchmarks"));
}

TEST(Convergence, FailsNoRunsOfABenchmarkWithoutReferencePoints) {
  SubmissionTree tree;
  MadeLog log;
  log.benchmark = "minigo";
  tree.have_only(log, 10);
  log.batch_size = 512;
  tree.write("us/results/demo/minigo/result_3.txt", golden::log_text(log));
  const PackageReport report = tree.check("training", "1.0");
  EXPECT_EQ(report.sets.at(0).rcp->outcome, RcpOutcome::kMixedRuns);
  EXPECT_TRUE(report.passes());
  EXPECT_THAT(rules_of(report), ElementsAre("rcp.failed")) << "a warning";
}

/// A minute of readings of constant power.
std::vector<golden::Reading> constant_power(double watts) {
  return golden::readings(60, [&](int) { return watts; });
}

/// Writes power logs of every run: two nodes and a switch.
void write_power(SubmissionTree& tree) {
  for (int i = 0; i < 5; ++i) {
    const std::string folder = fmt::format("{}/power/result_{}/", SubmissionTree::kFolder, i);
    tree.write(folder + "node_0.txt", golden::node_log(constant_power(500)));
    tree.write(folder + "node_1.txt", golden::node_log(constant_power(500)));
    tree.write(folder + "sw_0.txt", golden::switch_log(100));
  }
}

TEST(PowerCheck, TakesCompletePower) {
  SubmissionTree tree;
  write_power(tree);
  EXPECT_THAT(rules_of(tree.check()), IsEmpty());
}

TEST(PowerCheck, CountsARunWithoutPowerAsFailing) {
  SubmissionTree tree;
  write_power(tree);
  tree.remove(SubmissionTree::kFolder + "/power/result_3");
  const PackageReport one = tree.check();
  EXPECT_THAT(rules_of(one), ElementsAre("power.missing", "package.dropped-run"));
  EXPECT_TRUE(one.passes());
  tree.set_failing({"result_1.txt"});
  const PackageReport two = tree.check();
  EXPECT_THAT(rules_of(two), ElementsAre("power.missing", "package.failing-runs"));
  EXPECT_THAT(two.sets[0].failing_runs, ElementsAre("result_1.txt", "result_3.txt"));
}

TEST(PowerCheck, WantsNodesNumberedFromZero) {
  for (const char* const name : {"node_2.txt", "node_x.txt", "node.txt", "node_00.txt"}) {
    SubmissionTree tree;
    write_power(tree);
    const fs::path folder = tree.path(SubmissionTree::kFolder + "/power/result_3");
    fs::rename(folder / "node_1.txt", folder / name);
    EXPECT_THAT(rules_of(tree.check()), ElementsAre("power.names", "package.dropped-run")) << name;
  }
}

TEST(PowerCheck, WantsAsManySwitchesAsMostRunsHave) {
  SubmissionTree tree;
  write_power(tree);
  tree.write(SubmissionTree::kFolder + "/power/result_0/sw_1.txt", golden::switch_log(100));
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), ElementsAre("power.count", "package.dropped-run"));
  EXPECT_THAT(report.sets[0].failing_runs, ElementsAre("result_0.txt"));
}

TEST(PowerCheck, TellsOfOtherFiles) {
  SubmissionTree tree;
  write_power(tree);
  tree.write(SubmissionTree::kFolder + "/power/result_0/notes.txt", "");
  EXPECT_THAT(rules_of(tree.check()), ElementsAre("power.stray-file"));
}

TEST(RepositoryCheck, RefusesNamesWithDotsInFrontAndBlanks) {
  for (const char* const name : {"us/benchmarks/.hidden", "us/benchmarks/read me.md",
                                 "us/benchmarks/.dir/file", "us/benchmarks/a b/file"}) {
    SubmissionTree tree;
    tree.write(name, "");
    const PackageReport report = tree.check();
    EXPECT_THAT(rules_of(report), ElementsAre("repo.name")) << name;
    EXPECT_FALSE(report.passes());
  }
  SubmissionTree tree;
  tree.write("us/.git/config", "");
  tree.write("us/benchmarks/a+b.py", "");
  EXPECT_THAT(rules_of(tree.check()), IsEmpty());
}

TEST(RepositoryCheck, WarnsOnlyBeforeRoundTwo) {
  SubmissionTree tree;
  tree.write("us/benchmarks/.hidden", "");
  const PackageReport report = tree.check("hpc", "1.0");
  EXPECT_THAT(rules_of(report), ElementsAre("repo.name"));
  EXPECT_TRUE(report.passes());
}

TEST(RepositoryCheck, RefusesFilesOverFiftyMebibytes) {
  SubmissionTree tree;
  const std::string path = tree.write("us/benchmarks/weights.bin", "");
  constexpr std::uintmax_t kLimit = 50u << 20;
  fs::resize_file(path, kLimit);
  EXPECT_THAT(rules_of(tree.check()), IsEmpty());
  fs::resize_file(path, kLimit + 1);
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), ElementsAre("repo.size"));
  EXPECT_FALSE(report.passes());
}

TEST(RepositoryCheck, FollowsLinksFromWhereTheyStand) {
  SubmissionTree tree;
  fs::create_symlink("oc20/train.py", tree.path("us/benchmarks/train.py"));
  EXPECT_THAT(rules_of(tree.check()), IsEmpty());
  fs::create_symlink("oc20/absent.py", tree.path("us/benchmarks/broken.py"));
  const PackageReport report = tree.check();
  EXPECT_THAT(rules_of(report), ElementsAre("repo.link"));
  EXPECT_THAT(finding_of(report, "repo.link").finding.text, HasSubstr("oc20/absent.py"));
}

}  // namespace
