// Summaries of sets of runs, from logs that comply and logs that do not.
#include "analysis/report/set_summary.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "runner/base/temporary_directory.h"
#include "runner/mllog/rules/made_log.h"

namespace {

using analysis::report::SetSummary;
using analysis::report::summarize_set;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SetSummaryTest : public testing::Test {
 protected:
  /// A log that complies, whose run takes `run_s` seconds and whose times are `start_s` later.
  static made::Log log(double start_s, double run_s) {
    const auto rules = made::rules_of("training", "4.0");
    made::Log log = made::good_log(rules, {"open", "resnet", "", ""});
    for (made::Line& line : log) {
      line.time_ms += 1000.0 * start_s;
      if (line.key == "eval_accuracy") line.value = "0.9";
      if (line.key == "run_stop") {
        line.time_ms += 1000.0 * run_s;
        line.metadata = R"({"status": "success"})";
      }
    }
    return log;
  }
  /// Adds a finished member with this log.
  void add(const made::Log& log, const std::string& status = "success",
           const std::string& reason = "") {
    const auto number = static_cast<std::int64_t>(facts_["members"].size()) + 1;
    const std::string name = fmt::format("result_{}.txt", number);
    folder_.write(name, made::text_of(log));
    facts_["members"].push_back({{"member", number},
                                 {"seed", 100 + number},
                                 {"state", "finished"},
                                 {"status", status},
                                 {"reason", reason},
                                 {"attempts", 1},
                                 {"result", number},
                                 {"log", name},
                                 {"host", "node1"},
                                 {"job", nullptr}});
    facts_["runs"] = number;
  }
  void add_waiting() {
    const auto number = static_cast<std::int64_t>(facts_["members"].size()) + 1;
    facts_["members"].push_back({{"member", number},
                                 {"seed", 100 + number},
                                 {"state", "waiting"},
                                 {"status", nullptr},
                                 {"reason", nullptr},
                                 {"result", nullptr},
                                 {"log", nullptr},
                                 {"job", nullptr}});
    facts_["runs"] = number;
  }
  const base::TemporaryDirectory folder_;
  json facts_ = {{"schema", 1},
                 {"kind", "set"},
                 {"mode", "one_by_one"},
                 {"folder", folder_.path().string()},
                 {"master_seed", 7},
                 {"started", false},
                 {"command", "trainmark run a.json --runs 5"},
                 {"members", json::array()}};
};

TEST_F(SetSummaryTest, ScoresAWholeSet) {
  for (const double time : {50.0, 10.0, 30.0, 40.0, 20.0}) add(log(0, time));
  const SetSummary summary = summarize_set(facts_);
  const json& told = summary.document;
  EXPECT_EQ(told["score"]["time_to_train_s"], 30.0) << told["score"];
  EXPECT_EQ(told["score"]["counted"], json::array({5, 3, 4}));
  EXPECT_EQ(told["score"]["reason"], "");
  EXPECT_EQ(told["spread"]["median_s"], 30.0);
  EXPECT_EQ(told["members"][0]["time_to_train_s"], 50.0);
  EXPECT_EQ(told["members"][0]["quality"], 0.9);
  EXPECT_EQ(told["members"][0]["complies"], true);
  EXPECT_EQ(told["benchmark"], "resnet");
  EXPECT_TRUE(told["throughput"].is_null());
  EXPECT_THAT(summary.text,
              AllOf(HasSubstr("score               30 s, the mean of 3 of 5 runs"),
                    HasSubstr("10 to 50 s, median 30 s"), Not(HasSubstr("continue"))));
  std::string lines;
  for (const json& line : told["text"]) lines += line.get<std::string>() + "\n";
  EXPECT_EQ(lines, summary.text);
}

TEST_F(SetSummaryTest, JudgesByTheRoundThatTheRunWasGiven) {
  for (int i = 0; i < 5; ++i) add(log(0, 20));
  const auto ruleset = [](const SetSummary& summary) {
    return summary.document["members"][0]["ruleset"].get<std::string>();
  };
  EXPECT_THAT(ruleset(summarize_set(facts_)), Not(HasSubstr("training-4.0")));
  facts_["round"] = "training-4.0";
  EXPECT_THAT(ruleset(summarize_set(facts_)), HasSubstr("training-4.0"));
}

TEST_F(SetSummaryTest, TellsWhatFailedWhatIsMissingAndHowToGoOn) {
  add(log(0, 50));
  made::Log diverged = log(0, 10);
  for (made::Line& line : diverged) {
    if (line.key == "run_stop") line.metadata = R"({"status": "aborted"})";
  }
  add(diverged, "diverged", "the loss is not finite at step 3");
  add_waiting();
  const SetSummary summary = summarize_set(facts_);
  EXPECT_THAT(summary.text, AllOf(HasSubstr("none: the rules ask for 5 runs of resnet"),
                                  HasSubstr("run 2: diverged: the loss is not finite at step 3"),
                                  HasSubstr("trainmark run a.json --runs 5")));
  EXPECT_EQ(summary.document["missing"], json::array({3}));
  facts_["ranks"] = 4;
  EXPECT_THAT(summarize_set(facts_).text, HasSubstr("on 4 ranks: trainmark run a.json --runs 5"));
  EXPECT_EQ(summary.document["failures"][0]["status"], "diverged");
  EXPECT_TRUE(summary.document["score"]["time_to_train_s"].is_null());
  EXPECT_TRUE(summary.document["members"][1]["time_to_train_s"].is_null());
}

TEST_F(SetSummaryTest, TellsWhichRuleTheLogsBreak) {
  made::Log broken = log(0, 10);
  std::erase_if(broken, [](const made::Line& line) { return line.key == "submission_org"; });
  for (int i = 0; i < 5; ++i) add(i < 2 ? broken : log(0, 20));
  const SetSummary summary = summarize_set(facts_);
  EXPECT_THAT(summary.document["score"]["reason"].get<std::string>(),
              AllOf(HasSubstr("2 of 5 runs fail"), HasSubstr("submission_org")));
  EXPECT_EQ(summary.document["members"][0]["complies"], false);
}

TEST_F(SetSummaryTest, RatesInstancesThatRanTogether) {
  facts_["mode"] = "together";
  facts_["started"] = true;
  for (int i = 0; i < 6; ++i) add(log(0.5 * i, i == 5 ? 900 : 60));
  const SetSummary summary = summarize_set(facts_);
  const json& throughput = summary.document["throughput"];
  EXPECT_EQ(throughput["number_of_models"], 5);
  EXPECT_EQ(throughput["time_to_train_all_s"], 62.0);
  EXPECT_DOUBLE_EQ(throughput["models_per_minute"].get<double>(), 5.0 / 62.0 * 60.0);
  EXPECT_EQ(throughput["start_spread_s"], 2.0);
  EXPECT_EQ(summary.document["pruned"], json::array({6}));
  EXPECT_TRUE(summary.document["score"].is_null());
  EXPECT_THAT(summary.text, AllOf(HasSubstr("5 models in 1 min 2 s"),
                                  HasSubstr("result_6: ends 840.5 s after those kept")));
}

TEST_F(SetSummaryTest, CountsAnInstanceThatWasCutOffAfterTheStartAsFailed) {
  facts_["mode"] = "together";
  facts_["started"] = true;
  for (int i = 0; i < 6; ++i) add(log(0, 60));
  facts_["members"][1]["state"] = "cut_off";
  facts_["members"][1]["status"] = "stopped";
  facts_["members"][1]["reason"] = "node2 is gone";
  folder_.write("result_2.txt", ":::MLLOG {\"time_ms\": 1, \"key\": \"run_start\"}\n");
  const SetSummary summary = summarize_set(facts_);
  EXPECT_EQ(summary.document["pruned"], json::array({2}));
  EXPECT_EQ(summary.document["missing"], json::array());
  EXPECT_EQ(summary.document["throughput"]["number_of_models"], 5);
  EXPECT_THAT(summary.text, HasSubstr("node2 is gone"));
}

TEST_F(SetSummaryTest, TellsOfASetWithoutAnyLog) {
  add_waiting();
  add_waiting();
  const SetSummary summary = summarize_set(facts_);
  EXPECT_EQ(summary.document["score"]["reason"], "no run has begun");
  EXPECT_EQ(summary.document["spread"]["successful"], 0);
}

}  // namespace
