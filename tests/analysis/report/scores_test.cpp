// Scores of sets: which logs count by the rules of their round.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "analysis/fields.h"
#include "analysis/findings/make_report.h"
#include "analysis/findings/report.h"
#include "analysis/report/text/report.h"
#include "analysis/system_fields.h"
#include "runner/base/temporary_directory.h"
#include "runner/mllog/rules/made_log.h"

namespace {

using analysis::Report;
using testing::HasSubstr;
using testing::Not;

constexpr char kSet[] = "training_v4.0/us/results/box/resnet/";

enum class Kind { kComplies, kBreaksARule, kAborted };

/// A log whose run takes `run_s` seconds.
std::string log_of(double run_s, Kind kind = Kind::kComplies) {
  const auto rules = made::rules_of("training", "4.0");
  made::Log log = made::good_log(rules, {"open", "resnet", "", ""});
  for (made::Line& line : log) {
    if (line.key == "eval_accuracy") line.value = "0.9";
    if (line.key != "run_stop") continue;
    line.time_ms += 1000.0 * run_s;
    line.metadata = R"({"status": "success"})";
    if (kind == Kind::kAborted) line.metadata = R"({"status": "aborted"})";
  }
  if (kind == Kind::kBreaksARule) {
    std::erase_if(log, [](const made::Line& line) { return line.key == "submission_org"; });
  }
  return made::text_of(log);
}

/// Five runs of 10 to 50 s. `kinds` holds the kinds of the first ones; the others comply.
Report report_of(const std::vector<Kind>& kinds, const analysis::ReadOptions& options = {}) {
  const base::TemporaryDirectory folder;
  for (std::size_t i = 0; i < 5; ++i) {
    folder.write(
        fmt::format("{}result_{}.txt", kSet, i),
        log_of(10.0 * static_cast<double>(i + 1), i < kinds.size() ? kinds[i] : Kind::kComplies));
  }
  return analysis::make_report({folder.path().string()}, options);
}

std::optional<double> figure(const Report& report, const char* name) {
  return analysis::number(
      analysis::find_field(analysis::system_fields(), name)->get(report.systems.at(0).facts));
}

std::string full_text_of(const Report& report) {
  std::ostringstream text;
  analysis::report::TextPage page(text, 200);
  write_text(page, report, analysis::report::Detail::kFull);
  return text.str();
}

TEST(Scores, AreTheOlympicMeanWhereAllLogsKeepTheRules) {
  const Report report = report_of({});
  EXPECT_EQ(figure(report, "rule_breaking"), 0.0);
  EXPECT_EQ(figure(report, "score_min"), 0.5);
  EXPECT_EQ(figure(report, "olympic_mean_s"), 30.0);
  EXPECT_THAT(full_text_of(report), Not(HasSubstr("of them break")));
}

TEST(Scores, AreScaledAsScalingJsonSays) {
  const base::TemporaryDirectory folder;
  for (int i = 1; i <= 5; ++i) {
    folder.write(fmt::format("{}result_{}.txt", kSet, i), log_of(10.0 * i));
  }
  folder.write(fmt::format("{}scaling.json", kSet), R"({"scaling_factor": 1.5})");
  EXPECT_EQ(figure(analysis::make_report({folder.path().string()}), "score_min"), 0.75);
}

TEST(Scores, TakeALogThatBreaksARuleForAFailedRun) {
  const Report report = report_of({Kind::kBreaksARule});
  EXPECT_EQ(figure(report, "rule_breaking"), 1.0);
  EXPECT_EQ(figure(report, "score_min"), 40.0 / 60.0);
  EXPECT_EQ(figure(report, "olympic_mean_s"), 30.0);
}

TEST(Scores, AreAbsentWhereTwoRunsBreakRulesOrFail) {
  for (const Kind second : {Kind::kBreaksARule, Kind::kAborted}) {
    const Report report = report_of({Kind::kBreaksARule, second});
    EXPECT_EQ(figure(report, "score_min"), std::nullopt);
    EXPECT_EQ(report.systems[0].facts.rule_breaking, second == Kind::kAborted ? 1 : 2);
  }
}

TEST(Scores, AreNotValidOfFewerRunsThanTheRulesAskForWhichTheTextSays) {
  for (const Kind third : {Kind::kComplies, Kind::kAborted}) {
    const base::TemporaryDirectory folder;
    folder.write(fmt::format("{}result_0.txt", kSet), log_of(10.0));
    folder.write(fmt::format("{}result_1.txt", kSet), log_of(20.0));
    folder.write(fmt::format("{}result_2.txt", kSet), log_of(30.0, third));
    const Report report = analysis::make_report({folder.path().string()});
    EXPECT_EQ(figure(report, "score_min"), 20.0 / 60.0);  // as MLCommons' summariser
    EXPECT_EQ(figure(report, "olympic_mean_s"), 20.0);
    EXPECT_THAT(full_text_of(report), HasSubstr("; no valid score of fewer runs"));
  }
}

TEST(Scores, AreAbsentOfASetWhoseLogsAllBreakRulesWhichTheTextSays) {
  const Report report = report_of(std::vector<Kind>(5, Kind::kBreaksARule));
  EXPECT_EQ(figure(report, "score_min"), std::nullopt);
  EXPECT_EQ(figure(report, "olympic_mean_s"), 30.0);
  EXPECT_THAT(full_text_of(report),
              HasSubstr("5 of 5 runs succeeded; 5 of them break rules of their "
                        "round"));
}

TEST(Scores, AreNotAskedForWhereNobodyReadsThem) {
  const Report report = report_of({Kind::kBreaksARule}, {.scores = false});
  EXPECT_EQ(figure(report, "rule_breaking"), 0.0);
  EXPECT_EQ(figure(report, "olympic_mean_s"), 30.0);
}

}  // namespace
