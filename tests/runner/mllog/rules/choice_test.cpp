// The choice of a round: flags, paths, benchmarks and dates.
#include "runner/mllog/rules/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "runner/base/error.h"
#include "runner/mllog/rules/made_log.h"

namespace {

using made::Line;
using mllog::LogFormat;
using mllog::rules::Choice;
using mllog::rules::Evidence;
using mllog::rules::RuleBook;
using mllog::rules::Wanted;
using testing::HasSubstr;

const RuleBook& book() {
  static const RuleBook book;
  return book;
}

std::string by_path(const std::string& path, const Wanted& wanted = {}) {
  const auto choice = choose_by_path(book(), wanted, path);
  return choice ? choice->round->name() : "";
}

Choice by_log(std::optional<std::string> benchmark, std::optional<double> time_ms,
              const Wanted& wanted = {}) {
  Evidence evidence;
  evidence.benchmark = std::move(benchmark);
  evidence.time_ms = time_ms;
  return choose_by_log(book(), wanted, evidence);
}

constexpr double k2018 = 1.5417e12, k2020October = 1.6035e12, k2021October = 1.6343e12,
                 k2024May = 1.715e12, k2035 = 2.05e12;

TEST(ByPath, ReadsAnyFolderOfIt) {
  EXPECT_EQ(by_path("/data/hpc_v1.0/NVIDIA/results/x/cosmoflow/result_1.txt"), "hpc-1.0");
  EXPECT_EQ(by_path("training_results_v4.0/a/results/b/resnet/result_0.txt"), "training-4.0");
  EXPECT_EQ(by_path("/x/mlperf-training_2.1.0/r.txt"), "training-2.1");
  EXPECT_EQ(by_path("/x/hpc-v3.0"), "hpc-3.0");
  EXPECT_EQ(by_path("/hpc_v1.0/copy_of_hpc_v2.0/r.txt"), "hpc-2.0") << "the innermost";
}

TEST(ByPath, KnowsNothingOfOtherNames) {
  EXPECT_EQ(by_path("/x/hpc_v2.1/r.txt"), "") << "no such round";
  EXPECT_EQ(by_path("/x/myhpc_v1.0/r.txt"), "");
  EXPECT_EQ(by_path("/x/hpc_v1.01/r.txt"), "");
  EXPECT_EQ(by_path("/x/v1.0/r.txt"), "");
  EXPECT_EQ(by_path(""), "");
}

TEST(ByPath, YieldsToFlags) {
  EXPECT_EQ(by_path("/hpc_v1.0/r.txt", {"", "hpc-3.0"}), "hpc-3.0");
  EXPECT_EQ(by_path("/hpc_v1.0/r.txt", {"", "hpc-3.0.0"}), "hpc-3.0");
  EXPECT_EQ(by_path("/hpc_v1.0/r.txt", {"hpc", "2.0"}), "hpc-2.0");
  EXPECT_EQ(by_path("/hpc_v1.0/r.txt", {"", "4.0"}), "training-4.0") << "only training has one";
  EXPECT_EQ(by_path("/hpc_v1.0/r.txt", {"", "1.0"}), "hpc-1.0") << "of two the path decides";
  EXPECT_EQ(by_path("/hpc_v1.0/r.txt", {"training", ""}), "");
  EXPECT_EQ(by_path("/r.txt", {"", "1.0"}), "");
}

TEST(ByPath, KnowsRoundsWithoutRules) {
  EXPECT_EQ(by_path("/training_v0.6/Google/result_0.txt"), "training-0.6");
}

TEST(ByLog, TakesTheRoundThatWasPublishedNext) {
  EXPECT_EQ(by_log("cosmoflow", k2020October).round->name(), "hpc-0.7");
  EXPECT_EQ(by_log("deepcam", k2021October).round->name(), "hpc-1.0");
  EXPECT_EQ(by_log("oc20", k2020October).round->name(), "hpc-1.0") << "0.7 does not list it";
  EXPECT_EQ(by_log("resnet", k2024May).round->name(), "training-4.0");
  EXPECT_EQ(by_log("llama2_70b_lora", k2024May).round->name(), "training-4.0");
  EXPECT_EQ(by_log("dlrm_dcnv2", k2021October).round->name(), "training-3.0");
  EXPECT_THAT(by_log("deepcam", k2021October).why,
              HasSubstr("the log is of 2021-10-15, before hpc-1.0 was published on 2021-11-17"));
}

TEST(ByLog, TakesTheNewestForLaterLogsAndForThoseWithoutADate) {
  EXPECT_EQ(by_log("resnet", k2035).round->name(), "training-4.0") << "4.1 has no rules for it";
  EXPECT_EQ(by_log("resnet", k2035).why,
            "the newest round with \"resnet\"; the log is of 2034-12-17");
  EXPECT_EQ(by_log("cosmoflow", k2035).round->name(), "hpc-3.0");
  EXPECT_EQ(by_log("deepcam", std::nullopt).round->name(), "hpc-3.0");
  EXPECT_THAT(by_log("deepcam", std::nullopt).why, HasSubstr("has no date"));
}

TEST(ByLog, AssumesTrainingWhereTheBenchmarkIsUnknown) {
  EXPECT_EQ(by_log(std::nullopt, k2021October).round->name(), "training-1.1");
  EXPECT_EQ(by_log("mystery", k2021October).round->name(), "training-1.1");
  EXPECT_EQ(by_log("mystery", k2021October, {"hpc", ""}).round->name(), "hpc-1.0");
  EXPECT_THAT(by_log("mystery", k2021October).why, HasSubstr("no round lists"));
}

TEST(ByLog, KnowsTheRoundsOfOldFormatsWhateverTheDate) {
  Evidence evidence;
  evidence.benchmark = "resnet";
  evidence.time_ms = k2035;
  evidence.format = LogFormat::kMlpV05;
  EXPECT_EQ(choose_by_log(book(), {}, evidence).round->name(), "training-0.5");
  evidence.format = LogFormat::kMll;
  EXPECT_EQ(choose_by_log(book(), {}, evidence).round->name(), "training-0.6");
  EXPECT_EQ(choose_by_log(book(), {"training", ""}, evidence).round->name(), "training-0.6");
  EXPECT_EQ(choose_by_log(book(), {"hpc", ""}, evidence).round->usage, "hpc");
}

TEST(ByLog, TakesNoRoundOfAnOldFormatForTodaysLogs) {
  EXPECT_EQ(by_log("resnet", k2018).round->name(), "training-0.7");
}

TEST(Flags, AreRefusedWhereThereIsNoSuchRound) {
  const auto refusal = [](const Wanted& wanted) -> std::string {
    try {
      require_known(book(), wanted);
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({"hpc", "3.0"}), "");
  EXPECT_THAT(refusal({"hpc", "2.1"}), HasSubstr("there are hpc-0.7, hpc-1.0"));
  EXPECT_THAT(refusal({"hpc", "training-4.0"}), HasSubstr("no such round"));
  EXPECT_THAT(refusal({"", "hpc-4.0"}), HasSubstr("no such round"));
  EXPECT_THAT(refusal({"inference", ""}), HasSubstr("must be training or hpc"));
  EXPECT_THAT(refusal({"", "newest"}), HasSubstr("must look like"));
  EXPECT_EQ(refusal({"", "training-0.5"}), "");
}

TEST(Flags, AreRefusedWhereRulesAreNeededAndTheRoundHasNone) {
  try {
    require_rules(book(), {"", "training-0.5"});
    ADD_FAILURE() << "not refused";
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("has no rules"));
  }
  EXPECT_NO_THROW(require_rules(book(), {"", "training-4.0"}));
}

TEST(Gathering, SkipsTimesThatAreNoDatesAndStopsWhenItKnows) {
  std::istringstream log(text_of(Line{"a", "1", "{}", 0}) + "noise\n" +
                         text_of(Line{"submission_benchmark", "\"oc20\"", "{}", 17}) +
                         text_of(Line{"b", "1", "{}", 1.6e12}) +
                         text_of(Line{"submission_benchmark", "\"other\"", "{}", 1.7e12}));
  const Evidence evidence = mllog::rules::gather_evidence(log);
  EXPECT_EQ(evidence.benchmark, "oc20");
  EXPECT_EQ(evidence.time_ms, 1.6e12);
  EXPECT_EQ(evidence.format, LogFormat::kMllog);
}

TEST(Gathering, KnowsLinesOfOldFormats) {
  std::istringstream log(":::MLL 1558640006.188 run_start: {\"value\": null}\n");
  const Evidence evidence = mllog::rules::gather_evidence(log);
  EXPECT_EQ(evidence.format, LogFormat::kMll);
  std::istringstream older(":::MLPv0.5.0 ncf 1541731868.1 (ncf.py:438) eval_start\n");
  const Evidence of_older = mllog::rules::gather_evidence(older);
  EXPECT_EQ(of_older.format, LogFormat::kMlpV05);
  EXPECT_EQ(of_older.benchmark, "ncf");
  EXPECT_EQ(of_older.time_ms, 1541731868100.0);
}

}  // namespace
