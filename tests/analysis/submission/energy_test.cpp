// Energy of runs and sets in submissions, against values computed by hand.
#include "analysis/submission/energy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <set>

#include "analysis/submission/power_logs.h"
#include "analysis/submission/submission_tree.h"

namespace {

using namespace analysis::submission;
using golden::finding_of;
using golden::MadeLog;
using golden::node_log;
using golden::readings;
using golden::rules_of;
using golden::SubmissionTree;
using golden::switch_log;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Out of order, so that the runs by time are 2, 0, 4, 1, 3.
constexpr std::array kTimes_s = {80, 100, 70, 120, 90};

/// Five runs that take kTimes_s. Run i: node 0 draws 100 (i + 1) W with factor 0.9, node 1 draws 1
/// to 60 W in 60 seconds, a switch 50 W with factor 0.5. By hand: 0.9 * 100 (i + 1) = 90 (i + 1) W;
/// (1 + ... + 60) / 60 = 30.5 W; 25 W. Together 90 (i + 1) + 55.5 W.
class EnergyOfASubmission : public testing::Test {
 protected:
  EnergyOfASubmission() { write_runs(SubmissionTree::kFolder); }

  void write_runs(const std::string& folder) {
    for (int i = 0; i < 5; ++i) {
      MadeLog log;
      log.seed = std::to_string(100 + i);
      log.time_to_train_s = kTimes_s[static_cast<std::size_t>(i)];
      tree_.write(fmt::format("{}/result_{}.txt", folder, i), golden::log_text(log));
      const auto constant = [&](int) { return 100.0 * (i + 1); };
      write(folder, i, "node_0.txt", node_log(readings(60, constant), "0.9"));
      write(folder, i, "node_1.txt", node_log(readings(60, [](int s) { return double(s); })));
      write(folder, i, "sw_0.txt", switch_log(50, "0.5"));
    }
  }
  void write(const std::string& folder, int run, const std::string& file, const std::string& text) {
    tree_.write(fmt::format("{}/power/result_{}/{}", folder, run, file), text);
  }
  std::filesystem::path power_of(int run) const {
    return tree_.path(fmt::format("{}/power/result_{}", SubmissionTree::kFolder, run));
  }
  static double watts(int run) { return 90.0 * (run + 1) + 55.5; }
  static std::vector<std::string> counting(const SetEnergy& energy) {
    std::vector<std::string> files;
    for (const RunEnergy& run : energy.runs) {
      if (run.counts) files.push_back(run.file);
    }
    return files;
  }

  SubmissionTree tree_;
};

TEST_F(EnergyOfASubmission, IsItsPowerTimesTheTimeToTrain) {
  const PackageReport report = tree_.check();
  EXPECT_THAT(rules_of(report), IsEmpty());
  const SetEnergy& energy = report.sets.at(0).energy.value();
  ASSERT_EQ(energy.runs.size(), 5u);
  for (int i = 0; i < 5; ++i) {
    const auto run = static_cast<std::size_t>(i);
    EXPECT_DOUBLE_EQ(energy.runs[run].power_w.value(), watts(i));
    EXPECT_DOUBLE_EQ(energy.runs[run].energy_j.value(), watts(i) * kTimes_s[run]);
    EXPECT_EQ(energy.runs[run].count(PowerSource::kNode), 2);
    EXPECT_EQ(energy.runs[run].count(PowerSource::kSwitch), 1);
  }
}

TEST_F(EnergyOfASubmission, IsTheMeanOfTheRunsThatCountByTime) {
  // Of 70, 80, 90, 100, 120 s the fastest and the slowest are dropped, whatever their energy. Runs
  // 0, 1 and 4 remain, with 80 * 145.5, 100 * 235.5 and 90 * 505.5 J: 80685 / 3 = 26895 J.
  const PackageReport report = tree_.check();
  const SetEnergy& energy = report.sets.at(0).energy.value();
  EXPECT_THAT(counting(energy), ElementsAre("result_0.txt", "result_1.txt", "result_4.txt"));
  EXPECT_DOUBLE_EQ(energy.mean_energy_j.value(), 26895.0);
  EXPECT_DOUBLE_EQ(energy.energy_j.value(), 26895.0);
}

TEST_F(EnergyOfASubmission, IsScaledAsTheTimeIs) {
  const std::string folder = SubmissionTree::kFolder;
  tree_.write(folder + "/scaling.json", R"({"scaling_factor": 1.5})");
  const PackageReport report = tree_.check();
  const SetEnergy& energy = report.sets.at(0).energy.value();
  EXPECT_DOUBLE_EQ(energy.scaling_factor, 1.5);
  EXPECT_DOUBLE_EQ(energy.mean_energy_j.value(), 26895.0);
  EXPECT_DOUBLE_EQ(energy.energy_j.value(), 26895.0 * 1.5);
}

TEST_F(EnergyOfASubmission, LetsAFailingRunTakeThePlaceOfTheSlowest) {
  // Run 0 fails: of 70, 90, 100, 120 s only the fastest is dropped. 100 * 235.5, 120 * 415.5 and 90
  // * 505.5 J: 118905 / 3 = 39635 J.
  tree_.set_failing({"result_0.txt"});
  const PackageReport one = tree_.check();
  EXPECT_THAT(counting(*one.sets.at(0).energy),
              ElementsAre("result_1.txt", "result_3.txt", "result_4.txt"));
  EXPECT_DOUBLE_EQ(one.sets.at(0).energy->energy_j.value(), 39635.0);
  tree_.set_failing({"result_0.txt", "result_1.txt"});
  const PackageReport two = tree_.check();
  EXPECT_THAT(counting(*two.sets.at(0).energy), IsEmpty());
  EXPECT_EQ(two.sets.at(0).energy->energy_j, std::nullopt);
}

TEST_F(EnergyOfASubmission, HasNoMeanWhereARunThatCountsHasNone) {
  write(SubmissionTree::kFolder, 2, "node_1.txt", "");
  const PackageReport without_the_fastest = tree_.check();
  EXPECT_TRUE(without_the_fastest.passes()) << "the official check does not fail";
  EXPECT_THAT(rules_of(without_the_fastest), ElementsAre("power.log", "power.log"));
  EXPECT_EQ(finding_of(without_the_fastest, "power.log").path,
            SubmissionTree::kFolder + "/power/result_2/node_1.txt");
  const SetEnergy& kept = *without_the_fastest.sets.at(0).energy;
  EXPECT_EQ(kept.runs[2].energy_j, std::nullopt);
  EXPECT_DOUBLE_EQ(kept.energy_j.value(), 26895.0);
  write(SubmissionTree::kFolder, 1, "sw_0.txt", "");
  const PackageReport lacking = tree_.check();
  EXPECT_EQ(lacking.sets.at(0).energy->energy_j, std::nullopt);
  EXPECT_TRUE(lacking.passes());
}

TEST_F(EnergyOfASubmission, NeedsPowerLogsOfNodes) {
  for (int i = 0; i < 5; ++i) {
    std::filesystem::remove(power_of(i) / "node_0.txt");
    std::filesystem::remove(power_of(i) / "node_1.txt");
  }
  const PackageReport report = tree_.check();
  EXPECT_THAT(rules_of(report), testing::AllOf(testing::SizeIs(5), Each("power.log")));
  EXPECT_THAT(finding_of(report, "power.log").finding.text, HasSubstr("node_<number>.txt"));
  EXPECT_EQ(report.sets.at(0).energy->energy_j, std::nullopt);
}

TEST_F(EnergyOfASubmission, TellsOfLogsThatTheOfficialFormulaPassesOver) {
  std::filesystem::rename(power_of(4) / "sw_0.txt", power_of(4) / "sw_0.log");
  const PackageReport report = tree_.check();
  EXPECT_THAT(rules_of(report), ElementsAre("power.log"));
  EXPECT_THAT(finding_of(report, "power.log").path, testing::EndsWith("result_4/sw_0.log"));
  EXPECT_EQ(report.sets.at(0).energy->runs[4].energy_j, std::nullopt);
}

TEST_F(EnergyOfASubmission, TellsOfFoldersInPlaceOfFiles) {
  std::filesystem::remove(power_of(4) / "node_0.txt");
  std::filesystem::create_directory(power_of(4) / "node_0.txt");
  const PackageReport file = tree_.check();
  EXPECT_THAT(rules_of(file), ElementsAre("power.log"));
  EXPECT_EQ(file.sets.at(0).energy->energy_j, std::nullopt);
  std::filesystem::remove_all(power_of(4));
  const std::string folder = SubmissionTree::kFolder;
  tree_.write(folder + "/power/result_4", "a file");
  const PackageReport run = tree_.check();
  EXPECT_THAT(rules_of(run), ElementsAre("power.missing", "package.dropped-run"));
  // It counts as the slowest: of 70, 80, 100, 120 s the fastest is dropped.
  EXPECT_THAT(counting(*run.sets.at(0).energy),
              ElementsAre("result_0.txt", "result_1.txt", "result_3.txt"));
}

TEST_F(EnergyOfASubmission, HasNoMeanOfInstancesAtTheSameTime) {
  tree_.remove(SubmissionTree::kFolder);
  write_runs(SubmissionTree::kWeakFolder);
  const PackageReport report = tree_.check();
  const SetEnergy& energy = report.sets.at(0).energy.value();
  EXPECT_DOUBLE_EQ(energy.runs[0].energy_j.value(), watts(0) * kTimes_s[0]);
  EXPECT_THAT(counting(energy), IsEmpty());
  EXPECT_EQ(energy.energy_j, std::nullopt);
}

TEST_F(EnergyOfASubmission, IsToldOnlyWherePowerWasMeasured) {
  tree_.remove(SubmissionTree::kFolder + "/power");
  const PackageReport report = tree_.check();
  EXPECT_EQ(report.sets.at(0).energy.has_value(), false);
  EXPECT_THAT(rules_of(report), IsEmpty());
}

TEST_F(EnergyOfASubmission, NeedsATimeToTrain) {
  for (const std::optional<double> time :
       {std::optional<double>(), std::optional(0.0), std::optional(-5.0)}) {
    const auto energy =
        energy_of(tree_.path(SubmissionTree::kFolder), {{"result_0.txt", time}}, {}, 1.0);
    EXPECT_DOUBLE_EQ(energy.value().runs[0].power_w.value(), watts(0));
    EXPECT_EQ(energy->runs[0].energy_j, std::nullopt);
  }
}

TEST(OlympicRuns, KeepTheirOrderByTime) {
  const std::vector<TimedRun> runs = {{"a", 3}, {"b", 1}, {"c", 2}, {"d", 5}, {"e", 4}};
  EXPECT_THAT(olympic_runs(runs, 0, 1), ElementsAre("c", "a", "e"));
  EXPECT_THAT(olympic_runs(runs, 1, 1), ElementsAre("c", "a", "e", "d"));
  EXPECT_THAT(olympic_runs(runs, 0, 2), ElementsAre("a"));
  EXPECT_THAT(olympic_runs(runs, 2, 1), IsEmpty()) << "too many fail";
  EXPECT_THAT(olympic_runs({{"a", 1}, {"b", 2}}, 0, 1), IsEmpty()) << "none is left";
  EXPECT_THAT(olympic_runs({{"a", 1}, {"b", std::nullopt}, {"c", 2}}, 0, 1), IsEmpty());
  EXPECT_THAT(olympic_runs({}, 0, 1), IsEmpty());
}

TEST(EnergyDefinitions, GiveEachFigureAMeaning) {
  std::set<std::string_view> names;
  for (const EnergyDefinition& one : energy_definitions()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    EXPECT_FALSE(one.definition.empty()) << one.name;
    EXPECT_EQ(one.name.ends_with("_j"), one.unit == "J") << one.name;
    EXPECT_EQ(one.name.ends_with("_w"), one.unit == "W") << one.name;
    EXPECT_EQ(one.name.ends_with("_s"), one.unit == "s") << one.name;
  }
}

}  // namespace
