// The command `history`.
#include "analysis/command/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/golden.h"
#include "analysis/oddities.h"
#include "analysis/own_log.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace {

namespace fs = std::filesystem;
using analysis::command::history;
using analysis::command::HistoryOptions;
using base::ExitCode;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class History : public testing::Test {
 protected:
  void SetUp() override { options_.folder = folder_.path().string(); }
  /// Writes a run on day `day` that takes `more_s` longer than a clean one.
  void write(int number, double day, double more_s, const std::string& revision, int batch) {
    own_log::Log log = own_log::clean();
    own_log::move(log["run_stop"], 1000.0 * more_s);
    for (json& one : log.records) own_log::move(one, day * 86400e3);
    const std::string name = "box/cosmoflow/result_" + std::to_string(number);
    folder_.write(name + ".txt", log.text());
    folder_.write(name + ".config.json", json{{"batch", batch}, {"seed", number}}.dump());
    json telemetry = json::parse(golden::telemetry_text());
    telemetry["provenance"]["build"]["revision"] = revision;
    folder_.write(name + ".telemetry.json", telemetry.dump());
  }
  std::string run(ExitCode expected = ExitCode::kSuccess) {
    std::ostringstream out;
    EXPECT_EQ(history(options_, out, people_, 160), expected);
    return out.str();
  }
  base::TemporaryDirectory folder_;
  HistoryOptions options_;
  std::ostringstream people_;
};

TEST_F(History, ListsRunsNewestFirstWithWhatChanged) {
  write(1, 0, 0.0, "aaa", 64);
  write(2, 1, 1.0, "aaa", 128);
  options_.changes = true;
  const std::string text = run();
  EXPECT_LT(text.find("result_2.txt"), text.find("result_1.txt"));
  EXPECT_THAT(text, AllOf(HasSubstr("2023-11-15 22:13"), HasSubstr("34 s"), HasSubstr("aaa"),
                          HasSubstr("- batch: 128 (before: 64)"), Not(HasSubstr("seed")),
                          HasSubstr("against box/cosmoflow/result_1.txt before it"),
                          HasSubstr("cosmoflow"), HasSubstr("box")));
  options_.json = "-";
  const json document = json::parse(run());
  ASSERT_EQ(document["runs"].size(), 2u);
  EXPECT_EQ(document["runs"][0]["changes"], json::array({"batch: 128 (before: 64)"}));
  EXPECT_EQ(document["runs"][0]["settings"]["batch"], "128");
  EXPECT_EQ(document["runs"][1]["ttt_s"], 33.0);
  EXPECT_TRUE(document["definitions"].contains("revision"));
}

TEST_F(History, SaysThatNothingChanged) {
  for (int i = 1; i <= 3; ++i) write(i, i, 0.0, "aaa", 64);
  options_.changes = true;
  EXPECT_THAT(
      run(), AllOf(HasSubstr("No changes: 2 runs had the settings and revision of the run before."),
                   HasSubstr("Nothing before: 1 run, the first of a workload and system.")));
}

TEST_F(History, TellsChangesOfWhatASearchLeaves) {
  write(1, 0, 0.0, "aaa", 64);
  write(2, 1, 1.0, "aaa", 128);
  options_.changes = true;
  options_.settings = {"batch=128"};
  EXPECT_THAT(run(), HasSubstr("- batch: 128 (before: 64)"));
}

TEST_F(History, SearchesAndLimits) {
  for (int i = 1; i <= 3; ++i) write(i, i, 0.0, "aaa", 64 * i);
  options_.settings = {"batch=128"};
  EXPECT_THAT(run(), AllOf(HasSubstr("result_2.txt"), Not(HasSubstr("result_1.txt"))));
  options_.settings.clear();
  options_.since = "2023-11-17";
  EXPECT_THAT(run(), AllOf(HasSubstr("result_3.txt"), Not(HasSubstr("result_2.txt"))));
  options_.since.clear();
  options_.limit = 1;
  EXPECT_THAT(run(), HasSubstr("The newest 1 of 3 runs"));
  options_.workload = "resnet";
  EXPECT_THAT(run(), HasSubstr("No such run."));
}

TEST_F(History, EndsWithItsOwnCodeWhereRunsBecameSlower) {
  for (int i = 0; i < 4; ++i) write(1 + i, i, 0.01 * i, "old", 64);
  options_.regressions = true;
  EXPECT_THAT(run(), HasSubstr("No runs of one workload"));
  for (int i = 0; i < 4; ++i) write(5 + i, 10 + i, 5.0 + 0.01 * i, "new", 64);
  EXPECT_THAT(run(ExitCode::kRegression),
              AllOf(HasSubstr("revision new (4 runs) against old (4 runs)"), HasSubstr("slower")));
  options_.json = "-";
  const json trend = json::parse(run(ExitCode::kRegression))["trends"].at(0);
  EXPECT_EQ(trend["change"], "slower");
  EXPECT_EQ(trend["figures"][0]["name"], "time to train");
  EXPECT_NEAR(trend["figures"][0]["slower"].get<double>(), 38.015 / 33.015, 1e-9);
}

TEST_F(History, KeepsItsIndexWhereItIsTold) {
  write(1, 0, 0.0, "aaa", 64);
  const base::TemporaryDirectory elsewhere;
  options_.index = (elsewhere.path() / "runs.sqlite").string();
  run();
  EXPECT_TRUE(fs::exists(options_.index));
  EXPECT_FALSE(fs::exists(folder_.path() / ".trainmark-history.sqlite"));
  options_.index.clear();
  run();
  EXPECT_TRUE(fs::exists(folder_.path() / ".trainmark-history.sqlite"));
}

TEST_F(History, SaysWhatItCouldNotRead) {
  write(1, 0, 0.0, "aaa", 64);
  write(2, 1, 0.0, "aaa", 64);
  folder_.write("box/cosmoflow/result_2.config.json", "{");
  EXPECT_THAT(run(ExitCode::kIncomplete), HasSubstr("result_1.txt"));
  EXPECT_THAT(people_.str(), HasSubstr("result_2.config.json"));
  folder_.write("box/cosmoflow/result_1.txt", "no log\n");
  EXPECT_THAT(run(ExitCode::kIncomplete), HasSubstr("No such run."));
  EXPECT_THAT(people_.str(),
              HasSubstr("result_1.txt: expected lines with ':::MLLOG ', found none in 1 lines"));
}

TEST_F(History, RefusesWhatCannotBe) {
  for (const char* const wrong : {"2023-13-01", "2023-02-30", "yesterday", "2023-1-1", "abcd-01-01",
                                  "2O23-11-23", "-001-01-01", "0000-01-01"}) {
    options_.since = wrong;
    EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { run(); }),
                HasSubstr("--since: expected a date such as"));
  }
  options_.since.clear();
  options_.settings = {"batch"};
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { run(); }),
              HasSubstr("--with: expected KEY=VALUE, got 'batch'"));
  options_.regressions = true;
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { run(); }),
              HasSubstr("--with: expected"));
  options_.settings = {"batch=1"};
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { run(); }),
              HasSubstr("--regressions looks at all runs"));
  options_.regressions = false;
  options_.settings.clear();
  options_.json = (folder_.path() / "box/cosmoflow/result_9.txt").string();
  EXPECT_THAT(base::thrown_message<base::ConfigError>([&] { run(); }),
              HasSubstr("lies in the folder"));
  options_.json.clear();
  options_.folder = "nowhere";
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { run(); }),
              HasSubstr("nowhere: expected a folder of results"));
}

}  // namespace
