// The text report.
#include "analysis/report/text/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/findings/make_report.h"
#include "analysis/golden.h"
#include "analysis/own_log.h"
#include "analysis/report/made_scales.h"
#include "analysis/submission/power_logs.h"
#include "runner/base/content.h"
#include "runner/base/printable.h"
#include "runner/base/temporary_directory.h"

namespace {

using testing::HasSubstr;
using testing::Not;

using analysis::report::Definitions;
using analysis::report::Detail;
using analysis::report::TextForm;
using analysis::report::TextPage;

std::string text_of(const analysis::Report& report, std::size_t width = 80,
                    Detail detail = Detail::kFull) {
  std::ostringstream out;
  TextPage page(out, width);
  write_text(page, report, detail);
  return out.str();
}

std::string defined_text_of(const std::string& name) {
  std::ostringstream out;
  TextPage page(out, 80, TextForm::kTerminal, Definitions::kShown);
  write_text(page, analysis::make_report({golden::folder(name)}), Detail::kFull);
  return out.str();
}

std::string text_of(const std::string& name, std::size_t width = 80) {
  return text_of(analysis::make_report({golden::folder(name)}), width);
}

std::size_t widest_line(const std::string& text) {
  std::istringstream in(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(in, line);) {
    widest = std::max(widest, base::columns(line));
  }
  return widest;
}

TEST(TextReport, TellsTheMostOfOneRun) {
  const std::string text = text_of("success");
  EXPECT_THAT(text, HasSubstr("time to train       44.032 s\n"));
  EXPECT_THAT(text, HasSubstr("without staging   42.032 s"));
  EXPECT_THAT(text, HasSubstr("0.8125  target"));
  EXPECT_THAT(text, Not(HasSubstr("Definitions")));
}

TEST(TextReport, EndsWithDefinitionsIfAsked) {
  const std::string text = defined_text_of("success");
  const auto definitions = text.find("\nDefinitions\n");
  ASSERT_NE(definitions, std::string::npos);
  EXPECT_THAT(text.substr(definitions),
              HasSubstr("- time to train (ttt_s): time to train: run_stop - run_start"));
  EXPECT_THAT(defined_text_of("set"), HasSubstr("- samples/s (train_throughput): "));
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

TEST(TextReport, TellsWhatOfATracedStepIsCommunication) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt", base::content(golden::folder("success") + "/result_1.txt"));
  folder.write("result_1.telemetry.json", golden::telemetry_text());
  folder.write("result_1.trace.json", golden::trace_text());
  const std::string text = text_of(analysis::make_report({folder.path().string()}));
  EXPECT_THAT(text, HasSubstr("A step takes 600.000 ms: 300.000 ms of computation"));
  EXPECT_THAT(text,
              testing::ContainsRegex("gradients +1\\.50 +0\\.000 +225\\.000 +75\\.000 +150\\.000"));
}

TEST(TextScreen, HasOneRunOnOneScreen) {
  constexpr std::size_t kLines = 24, kColumns = 100;
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt", base::content(golden::folder("success") + "/result_1.txt"));
  folder.write("result_1.telemetry.json", golden::telemetry_text());
  const analysis::Report report = analysis::make_report({folder.path().string()});
  const std::string text = text_of(report, kColumns, Detail::kScreen);
  const std::string run = text.substr(0, text.find("\nFindings\n"));
  EXPECT_LE(lines_of(run), kLines) << run;
  EXPECT_LE(widest_line(text), kColumns);
  for (const char* const part : {"success", "time to train", "Convergence: eval_accuracy by epoch",
                                 "Where the time went: 2 ranks", "waited for"}) {
    EXPECT_THAT(run, HasSubstr(part));
  }
  EXPECT_THAT(run, Not(HasSubstr("machine.cpu_model")));
  EXPECT_LT(lines_of(text), lines_of(text_of(report)));
}

std::string joint_text_of(const std::string& name, std::size_t width) {
  std::ostringstream out;
  analysis::report::TextPage page(out, width);
  write_joint_text(page, analysis::make_report({golden::folder(name)}));
  return out.str();
}

TEST(JointText, HasTheSystemsOfABenchmarkSideBySide) {
  const std::string text = joint_text_of("set", 200);
  EXPECT_THAT(text, HasSubstr("resnet: systems side by side"));
  // The label leaves out the folders "results" and "resnet", which do not distinguish systems.
  EXPECT_THAT(text, testing::ContainsRegex("\n  demo +- +2 +48 +0.80 +0.07 +4.0 +11.0 "));
  EXPECT_THAT(text, Not(HasSubstr("result_4.txt"))) << "runs are not told one by one";
}

TEST(JointText, ExplainsAnEfficiencyAbove100PercentByCaches) {
  std::ostringstream out;
  analysis::report::TextPage page(out, 200);
  write_joint_text(page, analysis::two_scales());
  EXPECT_THAT(out.str(), testing::ContainsRegex("large +small +4.00 +125.0 .*75.0"));
  EXPECT_THAT(out.str(), HasSubstr("- large: above 100 %, where caches gave 75.0 % of the samples "
                                   "on 4 compute units, and 12.5 % on 1\n"));
  // Sets without a cache have no column for it.
  EXPECT_THAT(joint_text_of("set", 200), Not(HasSubstr("from caches")));
}

TEST(JointText, NamesWhatHasNoScore) {
  const std::string text = joint_text_of("aborted", 80);
  EXPECT_THAT(text, HasSubstr("No folder holds runs that make a score."));
  EXPECT_THAT(text, HasSubstr("Without a score: ."));
}

TEST(TextReport, FitsItsWidth) {
  for (const char* name : {"success", "set", "hostile", "malformed", "no_target", "empty"}) {
    for (const std::size_t width : {40u, 60u, 80u, 200u}) {
      EXPECT_LE(widest_line(text_of(name, width)), width) << name;
      const analysis::Report report = analysis::make_report({golden::folder(name)});
      EXPECT_LE(widest_line(text_of(report, width, Detail::kScreen)), width) << name;
      EXPECT_LE(widest_line(joint_text_of(name, width)), width) << name;
    }
  }
}

TEST(TextReport, HasNoControlCodes) {
  for (const char* name : {"success", "set", "hostile", "binary"}) {
    const std::string text = text_of(name);
    EXPECT_TRUE(std::none_of(text.begin(), text.end(), [](char c) {
      return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f;
    })) << name;
  }
}

TEST(TextReport, ShowsTheSubsystemsWhereTelemetryIs) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt", base::content(golden::folder("success") + "/result_1.txt"));
  folder.write("result_1.telemetry.json", golden::telemetry_text());
  const std::string text = text_of(analysis::make_report({folder.path().string()}));
  EXPECT_THAT(text, HasSubstr("Where the time went: 2 ranks, 10.0 s each"));
  EXPECT_THAT(text, HasSubstr("input       1.000   2.000  3.000  20.0  ####\n"));
  EXPECT_THAT(text, HasSubstr("machine.cpu_model"));
  EXPECT_THAT(text, Not(HasSubstr("by the log's records")));
}

TEST(TextReport, NamesTheRankThatWasWaitedFor) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt", golden::ten_seconds_log());
  folder.write("result_1.telemetry.json", golden::late_telemetry().dump());
  const std::string late =
      "- rank 1 on host node<1> was waited for in training: 4.0 s longer than the\n"
      "  median rank (4.0 s more input); the others spent 4.0 s more in exchange\n";
  EXPECT_THAT(text_of(analysis::make_report({folder.path().string()})), HasSubstr(late));
  folder.write("result_1.telemetry.json", golden::telemetry_text());
  EXPECT_THAT(text_of(analysis::make_report({folder.path().string()})),
              HasSubstr("  No rank in particular.\n"));
  folder.write("result_2.txt", golden::ten_seconds_log());
  folder.write("result_2.telemetry.json", golden::late_telemetry().dump());
  EXPECT_THAT(text_of(analysis::make_report({folder.path().string()})),
              HasSubstr("- result_2.txt: rank 1 on host node<1> was waited for"));
}

TEST(TextReport, ShowsTheSetAboveItsRuns) {
  const std::string text = text_of("set");
  EXPECT_THAT(text, HasSubstr("results/demo/resnet\n  4 of 5 runs succeeded"));
}

TEST(TextReport, TellsTheEnergyOfASetInJoules) {
  const base::TemporaryDirectory folder;
  for (const char* const run : {"result_1", "result_2", "result_3"}) {
    folder.write(std::string(run) + ".txt",
                 base::content(golden::folder("success") + "/result_1.txt"));
    folder.write(std::string("power/") + run + "/node_0.txt",
                 golden::node_log(golden::readings(60, [](int) { return 500.0; })));
  }
  const std::string text = text_of(analysis::make_report({folder.path().string()}), 400);
  EXPECT_THAT(text, HasSubstr("; energy 22016 J")) << "500 W in 44.032 s";
  folder.write("power/result_2/node_0.txt", "");
  EXPECT_THAT(text_of(analysis::make_report({folder.path().string()}), 400),
              Not(HasSubstr("; energy")));
}

TEST(TextReport, NamesThePlacesOfFindings) {
  EXPECT_THAT(text_of("malformed"), HasSubstr("- result_1.txt:12:9: error: malformed record: "));
  EXPECT_THAT(text_of("malformed", 200), HasSubstr(" [malformed-record]\n"));
}

TEST(TextReport, TellsTheWorstFindingsFirstAndAFewOfEachRule) {
  const base::TemporaryDirectory folder;
  for (int i = 0; i < 5; ++i) {
    own_log::Log log = own_log::clean();
    log["submission_org"]["value"] = "SUBMISSION_ORG_PLACEHOLDER";
    log["cache_clear"]["event_type"] = "INTERVAL_START";
    if (i == 4) log.erase("run_stop");
    folder.write("result_" + std::to_string(i) + ".txt", log.text());
  }
  const std::string text = text_of(analysis::make_report({folder.path().string()}), 200);
  const auto error = text.find("result_4.txt: error: no run_stop");
  const auto warning = text.find("result_0.txt:2:1: warning: submission_org is ");
  const auto note = text.find("result_0.txt:6:1: note: cache_clear has event_type");
  ASSERT_NE(note, std::string::npos) << text;
  EXPECT_LT(error, warning);
  EXPECT_LT(warning, note);
  EXPECT_THAT(text, HasSubstr("- 2 more [placeholder] in 2 logs or sets, all in the JSON"));
}

TEST(TextReport, ThinsLongCurvesButShowsTheTarget) {
  std::string log =
      ":::MLLOG {\"time_ms\": 0, \"key\": \"submission_benchmark\", \"value\": \"resnet\"}\n"
      ":::MLLOG {\"time_ms\": 0, \"key\": \"run_start\"}\n";
  for (int i = 1; i <= 100; ++i) {
    log += ":::MLLOG " +
           nlohmann::json{{"time_ms", i},
                          {"key", "eval_accuracy"},
                          {"value", i < 50 ? 0.5 : 0.9},
                          {"metadata", {{"epoch_num", i}}}}
               .dump() +
           "\n";
  }
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt", log);
  const std::string text = text_of(analysis::make_report({folder.path().string()}));
  EXPECT_THAT(text, HasSubstr("Every 5th of 100 evaluations"));
  EXPECT_THAT(text, HasSubstr("     50     0.1         0.9000  target"));
}

TEST(TextReport, SaysThatTimesRestOnAnotherUnitThanMilliseconds) {
  own_log::Log log = own_log::clean();
  for (auto& one : log.records) one["time_ms"] = one["time_ms"].get<double>() / 1000.0;
  const analysis::Report report = [&] {
    const base::TemporaryDirectory folder;
    folder.write("result_1.txt", log.text());
    return analysis::make_report({folder.path().string()});
  }();
  EXPECT_THAT(text_of(report, 200, Detail::kScreen),
              HasSubstr("; but time_ms is likely seconds (s) since 1970"));
  EXPECT_THAT(text_of(report, 200), HasSubstr("take time_ms for milliseconds, but it is likely"));
}

TEST(TextReport, SaysThatTimesOfASetRestOnAnotherUnitThanMilliseconds) {
  own_log::Log log = own_log::clean();
  for (auto& one : log.records) one["time_ms"] = one["time_ms"].get<double>() / 1000.0;
  const base::TemporaryDirectory folder;
  for (const char* const name : {"result_1.txt", "result_2.txt"}) folder.write(name, log.text());
  EXPECT_THAT(text_of(analysis::make_report({folder.path().string()}), 400),
              HasSubstr(" s; but time_ms is likely seconds (s) since 1970; "));
  EXPECT_THAT(text_of("set"), Not(HasSubstr("but time_ms is")));
}

}  // namespace
