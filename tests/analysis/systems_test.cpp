// Sets of runs: the olympic mean and its rules.
#include "analysis/systems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "analysis/findings/make_report.h"
#include "analysis/findings/report.h"
#include "analysis/findings/system_facts_of.h"
#include "analysis/golden.h"
#include "runner/base/temporary_directory.h"

namespace {

using analysis::Outcome;
using analysis::RunFacts;
using analysis::SetMember;
using analysis::SystemFacts;
using testing::ElementsAre;
using testing::HasSubstr;

/// Facts of runs with these times; a negative one failed after that time.
std::vector<RunFacts> facts_of_runs(const std::vector<double>& times) {
  std::vector<RunFacts> runs;
  for (const double time : times) {
    RunFacts facts;
    facts.records = 1;
    facts.run_start_ms = 0.0;
    facts.run_stop_ms = 1000.0 * std::abs(time);
    facts.ttt_s = std::abs(time);
    facts.outcome = time > 0 ? Outcome::kSuccess : Outcome::kAborted;
    runs.push_back(facts);
  }
  return runs;
}

/// The logs of the first `breaking` runs break rules.
SystemFacts system_of_runs(const std::vector<RunFacts>& runs,
                           const std::string& folder = "/no/such", std::size_t breaking = 0) {
  std::vector<SetMember> members;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    members.push_back({"result_" + std::to_string(i) + ".txt", &runs[i], i < breaking});
  }
  std::vector<analysis::Finding> findings;
  return analysis::system_facts_of(folder, members, findings);
}

SystemFacts system_of(const std::vector<double>& times, const std::string& folder = "/no/such",
                      std::size_t breaking = 0) {
  return system_of_runs(facts_of_runs(times), folder, breaking);
}

/// A hundred runs of round 0.5 that start one after another; the list has the last one first. The
/// n-th to start takes n seconds, and `failing` of every ten fail.
std::vector<RunFacts> hundred_runs(int failing) {
  std::vector<double> times;
  for (int n = 100; n > 0; --n) times.push_back(n % 10 < failing ? -n : n);
  std::vector<RunFacts> runs = facts_of_runs(times);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].round = "0.5";
    *runs[i].run_start_ms = 1000.0 * std::abs(times[i]);
  }
  return runs;
}

TEST(OlympicRange, DropsTheFastestAndTheSlowestThatFailuresLeave) {
  const auto range = [](std::size_t valid, std::size_t failing, std::size_t dropped) {
    const auto [first, last] = analysis::olympic_range(valid, failing, dropped);
    return std::pair(first, last);
  };
  using Pair = std::pair<std::size_t, std::size_t>;
  EXPECT_EQ(range(5, 0, 1), Pair(1, 4));
  EXPECT_EQ(range(4, 1, 1), Pair(1, 4)) << "the failing one was the slowest";
  EXPECT_EQ(range(3, 2, 1), Pair(0, 0)) << "too many fail";
  EXPECT_EQ(range(2, 0, 1), Pair(0, 0)) << "nothing is left";
  EXPECT_EQ(range(38, 2, 4), Pair(4, 36));
}

TEST(OlympicMean, DropsTheFastestAndTheSlowestRun) {
  EXPECT_DOUBLE_EQ(*system_of({5, 1, 3, 4, 2}).olympic_mean_s, 3.0);
}

TEST(OlympicMean, TakesOneFailedRunForTheSlowest) {
  const SystemFacts system = system_of({5, -1, 3, 4, 2});
  EXPECT_DOUBLE_EQ(*system.olympic_mean_s, 4.0);
  EXPECT_EQ(system.olympic_files,
            (std::vector<std::string>{"result_2.txt", "result_3.txt", "result_0.txt"}));
}

TEST(OlympicMean, IsAbsentWithTwoFailedRuns) {
  EXPECT_FALSE(system_of({5, -1, 3, -4, 2}).olympic_mean_s);
}

TEST(OlympicMean, IsAbsentForFewerThanThreeRuns) {
  EXPECT_FALSE(system_of({1, 2}).olympic_mean_s);
  EXPECT_TRUE(system_of({1, 2, 3}).olympic_mean_s);
}

TEST(Score, TakesARunThatBreaksRulesForAFailedOne) {
  const SystemFacts system = system_of({5, 1, 3, 4, 2}, "/no/such", 1);
  EXPECT_EQ(system.rule_breaking, 1);
  EXPECT_EQ(system.failed, 0);
  EXPECT_DOUBLE_EQ(*system.score_s, 3.0) << "of 2, 3 and 4: the failed one is the slowest";
  EXPECT_DOUBLE_EQ(*system.olympic_mean_s, 3.0);
  EXPECT_DOUBLE_EQ(*system_of({1, 5, 3, 4, 2}, "/no/such", 1).score_s, 4.0);
}

TEST(Score, IsAbsentWhereMoreRunsFailOrBreakRulesThanAreDropped) {
  EXPECT_FALSE(system_of({5, 1, 3, 4, 2}, "/no/such", 2).score_s);
  EXPECT_FALSE(system_of({5, -1, 3, 4, 2}, "/no/such", 1).score_s);
  const SystemFacts all = system_of({5, 1, 3, 4, 2}, "/no/such", 5);
  EXPECT_FALSE(all.score_s);
  EXPECT_DOUBLE_EQ(*all.olympic_mean_s, 3.0);
  EXPECT_EQ(all.rule_breaking, 5);
}

TEST(Score, CountsNoFailedRunAmongThoseThatBreakRules) {
  const SystemFacts system = system_of({-5, 1, 3, 4, 2}, "/no/such", 1);
  EXPECT_EQ(system.rule_breaking, 0);
  EXPECT_DOUBLE_EQ(*system.score_s, 3.0);
}

TEST(ScoreOfNcfIn05, IsThatOfTheFirstFiftyOfAHundredThatConverge) {
  const SystemFacts system = system_of_runs(hundred_runs(3), "/results/box/ncf");
  EXPECT_EQ(system.failed, 30);
  EXPECT_EQ(system.olympic_files.size(), 48u);
  // Of 3 to 9, 13 to 19, and so on to 63 to 69, 73: without 3 and 73.
  EXPECT_DOUBLE_EQ(*system.score_s, (7 * (6 + 16 + 26 + 36 + 46 + 56 + 66) + 73 - 3 - 73) / 48.0);
  EXPECT_EQ(system.olympic_mean_s, system.score_s);
}

TEST(ScoreOfNcfIn05, IsAbsentOfFewerThanFiftyOrOfAnotherNumberOfRuns) {
  EXPECT_FALSE(system_of_runs(hundred_runs(6), "/results/box/ncf").score_s);
  std::vector<RunFacts> runs = hundred_runs(3);
  runs.pop_back();
  EXPECT_FALSE(system_of_runs(runs, "/results/box/ncf").score_s);
}

TEST(System, SpreadsOverTheSuccessfulRuns) {
  const SystemFacts system = system_of({2, 4, -100});
  EXPECT_DOUBLE_EQ(*system.ttt_mean_s, 3.0);
  EXPECT_DOUBLE_EQ(*system.ttt_median_s, 3.0);
  EXPECT_DOUBLE_EQ(*system.ttt_stdev_s, std::sqrt(2.0));
}

TEST(System, CountsAResumedRunForNoSuccess) {
  std::vector<RunFacts> runs = facts_of_runs({1, 2, 3});
  runs[2].resumed = true;
  runs[2].ttt_s.reset();
  std::vector<SetMember> members;
  for (const RunFacts& run : runs) members.push_back({"result.txt", &run});
  std::vector<analysis::Finding> findings;
  const SystemFacts system = analysis::system_facts_of("/x/resnet", members, findings);
  EXPECT_EQ(system.failed, 1);
  EXPECT_DOUBLE_EQ(*system.ttt_mean_s, 1.5);
}

TEST(System, CountsTheLogsOfAResumedRunOnce) {
  // A run in three parts, one that succeeds, and one that is aborted for good.
  std::vector<RunFacts> runs = facts_of_runs({-10.0, -20.0, 30.0, 40.0, -50.0});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].run_start_ms = 1e5 * static_cast<double>(i);
    if (i != 1 && i != 2) continue;
    runs[i].resumed = true;
    runs[i].resumed_from = "results/box/toy/result_0.checkpoints/checkpoint_0003_step_5.h5";
  }
  std::vector<SetMember> members;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    members.push_back({"result_" + std::to_string(i) + ".txt", &runs[i]});
  }
  const auto next = analysis::continuations(members);
  EXPECT_EQ(next[0], 1u);
  EXPECT_EQ(next[1], 2u);
  for (const std::size_t last : {2, 3, 4}) EXPECT_FALSE(next[last]);
  std::vector<analysis::Finding> findings;
  const SystemFacts system = analysis::system_facts_of("/no/such", members, findings);
  EXPECT_EQ(system.runs, 3);
  EXPECT_EQ(system.successful, 1);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].text,
            "2 earlier parts of resumed runs, first result_0.txt goes on in result_1.txt: not "
            "counted as runs");
}

TEST(System, WithoutASuccessHasNoTimes) {
  const SystemFacts system = system_of({-1, -2});
  EXPECT_EQ(system.failed, 2);
  EXPECT_FALSE(system.ttt_mean_s);
  EXPECT_FALSE(system.olympic_mean_s);
}

TEST(System, OfInstancesTrainedAtOnceIsRatedByThroughput) {
  const SystemFacts system = system_of({60, 30, 90}, "/x/weak/cosmoflow");
  EXPECT_FALSE(system.olympic_mean_s);
  EXPECT_DOUBLE_EQ(*system.ttta_s, 90.0);
}

TEST(System, IsReadFromTheSubmissionAroundIt) {
  const analysis::Report report = analysis::make_report({golden::folder("set")});
  ASSERT_EQ(report.runs.size(), 6u);
  ASSERT_EQ(report.systems.size(), 1u) << "pruned_results is no set";
  const analysis::SystemReport& system = report.systems[0];
  EXPECT_EQ(system.name, "results/demo/resnet");
  EXPECT_EQ(system.facts.runs, 5);
  EXPECT_EQ(system.facts.failed, 1);
  EXPECT_DOUBLE_EQ(*system.facts.compute_units, 2.0);
  EXPECT_EQ(system.facts.olympic_files,
            (std::vector<std::string>{"result_1.txt", "result_5.txt", "result_2.txt"}));
  EXPECT_NEAR(*system.facts.olympic_mean_s, (44.032 + 48.032 + 52.032) / 3, 1e-9);
}

/// The findings about the side files of a set in `folder`, and its facts.
std::vector<std::string> told_of_side_files(const base::TemporaryDirectory& folder,
                                            SystemFacts* facts = nullptr) {
  std::vector<analysis::Finding> findings;
  const std::vector<RunFacts> runs = facts_of_runs({1});
  SystemFacts found = analysis::system_facts_of(folder.path() / "results/demo/resnet",
                                                {{"result_0.txt", &runs[0]}}, findings);
  if (facts != nullptr) *facts = std::move(found);
  std::vector<std::string> texts;
  for (const analysis::Finding& finding : findings) {
    if (finding.rule == "side-file-damaged") texts.push_back(finding.text);
  }
  return texts;
}

TEST(System, WithADamagedDescriptionSaysSo) {
  const base::TemporaryDirectory folder;
  folder.write("results/demo/resnet/scaling.json", "{not json");
  EXPECT_THAT(told_of_side_files(folder),
              ElementsAre(HasSubstr("scaling.json: line 1, column 2: not valid")));
  folder.write("results/demo/resnet/scaling.json", R"({"scaling_factor": "1.5"})");
  EXPECT_THAT(told_of_side_files(folder),
              ElementsAre(HasSubstr("expected a number scaling_factor")));
}

TEST(System, IsToldOfWhatTheCheckOfASubmissionIsToldOf) {
  const base::TemporaryDirectory folder;
  SystemFacts facts;
  folder.write("systems/demo.json", "\xef\xbb\xbf{\"number_of_nodes\": 2}");
  EXPECT_THAT(told_of_side_files(folder, &facts), ElementsAre(HasSubstr("byte order mark")));
  EXPECT_FALSE(facts.description.nodes);
  folder.write("systems/demo.json", "{\"number_of_nodes\": 2,\n \"number_of_nodes\": 4}");
  EXPECT_THAT(
      told_of_side_files(folder, &facts),
      ElementsAre(HasSubstr(
          "number_of_nodes: given twice, in line 1, column 2 and in line 2, column 2; the last")));
  EXPECT_EQ(facts.description.nodes, 4.0);
}

TEST(System, IsReadThoughItsSideFilesAreNoFiles) {
  const base::TemporaryDirectory folder;
  folder.write("results/demo/resnet/result_0.txt", "");
  folder.write("systems/other.json", "{}");
  const auto factor = folder.path() / "results/demo/resnet/scaling.json";
  ASSERT_EQ(::mkfifo(factor.c_str(), 0600), 0);
  std::filesystem::create_directory(folder.path() / "systems/demo.json");
  EXPECT_THAT(told_of_side_files(folder),
              ElementsAre(HasSubstr("demo.json: expected a regular file, found a folder"),
                          HasSubstr("scaling.json: expected a regular file, found a pipe")));
  std::filesystem::remove(factor);
  std::filesystem::remove(folder.path() / "systems/demo.json");
  folder.write("systems/demo.json", "");
  std::filesystem::resize_file(folder.path() / "systems/demo.json", std::uintmax_t{1} << 31);
  EXPECT_THAT(told_of_side_files(folder), ElementsAre(HasSubstr("found 2.0 GiB")));
}

TEST(Organisations, AreComparedByLettersAndJointNamesByTheirParts) {
  using analysis::is_other_organisation;
  EXPECT_FALSE(is_other_organisation("Example Lab", "example-lab"));
  EXPECT_FALSE(is_other_organisation("Fujitsu/RIKEN", "RIKEN"));
  EXPECT_FALSE(is_other_organisation("HPE+LBNL", "LBNL & HPE"));
  EXPECT_FALSE(is_other_organisation("", "RIKEN"));
  EXPECT_TRUE(is_other_organisation("Example Lab Corp.", "Example Lab"));
}

}  // namespace
