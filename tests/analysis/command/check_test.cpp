// The command `check`: verdicts, exit codes and outputs.
#include "analysis/command/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/command/checking.h"
#include "analysis/findings/check_report.h"
#include "runner/base/content.h"
#include "runner/base/temporary_directory.h"

namespace {

using analysis::command::CheckOptions;
using base::ExitCode;
using base::TemporaryDirectory;
using checking::check;
using checking::good_log;
using checking::Outcome;
using checking::reading;
using checking::refusal;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Check, PassesGoodLogs) {
  const TemporaryDirectory folder;
  folder.write("hpc_v1.0/result_1.txt", good_log());
  const Outcome outcome = check(reading({folder.path().string()}));
  EXPECT_EQ(outcome.code, ExitCode::kSuccess);
  EXPECT_THAT(outcome.out, HasSubstr("hpc_v1.0/result_1.txt: SUCCESS under hpc-1.0.0 (the path "
                                     "names hpc_v1.0)\n"));
  EXPECT_THAT(outcome.out, HasSubstr("1 log judged: 1 SUCCESS, 0 FAIL; audit: "));
}

/// good_log(), moved to begin at `begin_ms`.
std::string log_of(double begin_ms) {
  made::Log log = made::good_log(made::rules_of("hpc", "1.0"), {"closed", "cosmoflow", "sgd", ""});
  const double shift_ms = begin_ms - log.front().time_ms;
  for (made::Line& line : log) line.time_ms += shift_ms;
  return made::text_of(log);
}

TEST(Check, JudgesTheLogsOfOneSubmissionByTheRoundOfTheNewest) {
  constexpr double kIn2021 = 1.63e12, kIn2023 = 1.69e12;
  const TemporaryDirectory folder;
  folder.write("us/results/old/cosmoflow/result_1.txt", log_of(kIn2021));
  folder.write("us/results/new/cosmoflow/result_1.txt", log_of(kIn2023));
  folder.write("them/results/old/cosmoflow/result_1.txt", log_of(kIn2021));
  const Outcome outcome = check(reading({folder.path().string()}));
  EXPECT_THAT(outcome.out, HasSubstr("us/results/old/cosmoflow/result_1.txt: SUCCESS under "
                                     "hpc-3.0.0 (a log of the same submission is newer"));
  EXPECT_THAT(outcome.out,
              HasSubstr("us/results/new/cosmoflow/result_1.txt: SUCCESS under hpc-3.0.0"));
  EXPECT_THAT(outcome.out,
              HasSubstr("them/results/old/cosmoflow/result_1.txt: SUCCESS under hpc-1.0.0"));
}

TEST(Check, FailsIfOneLogFails) {
  const TemporaryDirectory folder;
  folder.write("hpc_v1.0/result_1.txt", good_log());
  const std::string bad = good_log() + ":::MLLOG {\n";
  folder.write("hpc_v1.0/result_2.txt", bad);
  const Outcome outcome = check(reading({folder.path().string()}));
  EXPECT_EQ(outcome.code, ExitCode::kNonCompliant);
  EXPECT_THAT(outcome.out, HasSubstr("result_2.txt: FAIL"));
  const auto lines = std::count(bad.begin(), bad.end(), '\n');
  EXPECT_THAT(outcome.out, HasSubstr("result_2.txt:" + std::to_string(lines) + ":1: error: not a"));
  EXPECT_THAT(outcome.out, HasSubstr("2 logs judged: 1 SUCCESS, 1 FAIL"));
}

TEST(Check, SaysOfWhatIsNoLogOnlyThat) {
  const TemporaryDirectory folder;
  const Outcome outcome = check(reading({folder.write("notes.md", "# Notes\n")}));
  EXPECT_EQ(outcome.code, ExitCode::kNonCompliant);
  EXPECT_THAT(outcome.out, HasSubstr("the log holds no record [log/records]"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("submission_org")));
}

/// Options to judge a log of a benchmark that a round lists, but has no rules for.
CheckOptions of_unknown_benchmark(const TemporaryDirectory& folder) {
  std::string log = good_log();
  log.replace(log.find("cosmoflow"), 9, "brand_new");
  CheckOptions options = reading({folder.write("result_1.txt", log)});
  options.overlays = {folder.write("rounds.json", R"({"usage": "hpc", "rounds": [
      {"round": "9.9", "source": "made", "benchmarks": ["brand_new"]}]})")};
  options.round = "hpc-9.9";
  return options;
}

TEST(Check, SaysThatItDoesNotKnowTheRulesOfABenchmark) {
  const TemporaryDirectory folder;
  CheckOptions options = of_unknown_benchmark(folder);
  options.junit = (folder.path() / "found.xml").string();
  options.sarif = (folder.path() / "found.sarif").string();
  const Outcome outcome = check(options);
  EXPECT_EQ(outcome.code, base::ExitCode::kUnknownVerdict);
  EXPECT_EQ(static_cast<int>(outcome.code), 10);
  EXPECT_THAT(outcome.out, HasSubstr("result_1.txt: UNKNOWN under hpc-9.9.0"));
  EXPECT_THAT(outcome.out,
              HasSubstr("what hpc-9.9 asks of brand_new in this division is not known"));
  EXPECT_THAT(outcome.out, HasSubstr("1 log judged: 0 SUCCESS, 0 FAIL, 1 UNKNOWN"));
  const auto text_of = [](const std::string& path) {
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_THAT(text_of(options.junit), HasSubstr("skipped=\"1\""));
  EXPECT_THAT(text_of(options.junit), HasSubstr("<skipped message=\"UNKNOWN: what hpc-9.9 asks"));
  EXPECT_THAT(text_of(options.sarif), HasSubstr("UNKNOWN: what hpc-9.9 asks"));
}

TEST(Check, TellsInJsonWhyAVerdictIsUnknown) {
  const TemporaryDirectory folder;
  CheckOptions options = of_unknown_benchmark(folder);
  options.json = "-";
  const json document = json::parse(check(options).out);
  const json& file = document["files"]["result_1.txt"];
  EXPECT_EQ(file["verdict"], "UNKNOWN");
  EXPECT_THAT(file["unknown_because"], HasSubstr("brand_new"));
}

TEST(Check, FailsALogOfAnUnknownBenchmarkThatBreaksACommonRule) {
  const TemporaryDirectory folder;
  CheckOptions options = of_unknown_benchmark(folder);
  std::ofstream(options.paths[0], std::ios::app) << ":::MLLOG {\n";
  EXPECT_EQ(check(options).code, ExitCode::kNonCompliant);
}

TEST(Check, ShowsAFewOfOneWarning) {
  const TemporaryDirectory folder;
  std::string log = good_log();
  for (int i = 0; i < 5; ++i) folder.write("hpc_v1.0/result_" + std::to_string(i) + ".txt", log);
  EXPECT_THAT(check(reading({folder.path().string()})).out,
              testing::ContainsRegex("  2 more audit warnings .seed-missing., all in the JSON"));
}

TEST(Check, TellsOfPassingLogsTheirNumberAloneWhenQuiet) {
  const TemporaryDirectory folder;
  CheckOptions options = reading({folder.write("result_1.txt", good_log())});
  options.quiet = true;
  EXPECT_THAT(check(options).out,
              testing::MatchesRegex("1 log judged: 1 SUCCESS, 0 FAIL; audit: .*\n"));
}

TEST(Check, WritesOneJsonDocument) {
  const TemporaryDirectory folder;
  folder.write("hpc_v1.0/result_1.txt", good_log() + ":::MLLOG {\n");
  CheckOptions options = reading({folder.path().string()});
  options.json = "-";
  const json document = json::parse(check(options).out);
  EXPECT_EQ(document["schema"], 1);
  const json& file = document["files"]["hpc_v1.0/result_1.txt"];
  EXPECT_EQ(file["verdict"], "FAIL");
  EXPECT_EQ(file["ruleset"], "hpc-1.0.0");
  EXPECT_EQ(file["why_this_ruleset"], "the path names hpc_v1.0");
  EXPECT_EQ(file["rule_files"], json({"common", "closed_common", "closed_cosmoflow"}));
  EXPECT_EQ(file["failing_keys"], json::array());
  ASSERT_EQ(file["findings"].size(), 1u);
  const json& finding = file["findings"][0];
  EXPECT_EQ(finding["rule"], "log/record");
  EXPECT_EQ(finding["severity"], "error");
  EXPECT_EQ(finding["column"], 1);
  EXPECT_EQ(finding["key"], nullptr);
  EXPECT_THAT(finding["text"], HasSubstr("not a record"));
}

TEST(Check, TellsAuditFindingsBesideAVerdictThatTheyDoNotChange) {
  const TemporaryDirectory folder;
  // The rules require a status, but not a value of it; in this log it is 1.
  CheckOptions options = reading({folder.write("hpc_v1.0/result_1.txt", good_log())});
  const Outcome text = check(options);
  EXPECT_EQ(text.code, ExitCode::kSuccess);
  EXPECT_THAT(text.out, testing::ContainsRegex(":[0-9]+:1: audit error: .*aborted-yet-counted"));
  options.json = "-";
  const json file = json::parse(check(options).out)["files"].front();
  EXPECT_EQ(file["verdict"], "SUCCESS");
  EXPECT_TRUE(file["findings"].empty());
  EXPECT_TRUE(std::any_of(file["audit"].begin(), file["audit"].end(), [](const json& one) {
    return one["rule"] == "aborted-yet-counted" && one["line"].is_number();
  }));
}

TEST(Check, WritesSarifAndJunit) {
  const TemporaryDirectory folder;
  CheckOptions options =
      reading({folder.write("hpc_v1.0/result_1.txt", good_log() + ":::MLLOG {\n")});
  options.sarif = (folder.path() / "out.sarif").string();
  options.junit = (folder.path() / "out.xml").string();
  const Outcome outcome = check(options);
  EXPECT_EQ(outcome.code, ExitCode::kNonCompliant);
  EXPECT_THAT(outcome.people, HasSubstr("wrote " + options.sarif + "\nwrote " + options.junit));
  const json sarif = json::parse(base::content(options.sarif));
  EXPECT_EQ(sarif["version"], "2.1.0");
  EXPECT_GT(sarif["runs"][0]["results"].size(), 1u);
  EXPECT_THAT(base::content(options.junit), HasSubstr("<failure"));
  options.junit = options.paths[0];
  EXPECT_THAT(refusal(options), HasSubstr("is one of the files that are read"));
}

TEST(Check, TellsOtherProgramsWhatCouldNotBeRead) {
  const TemporaryDirectory folder;
  CheckOptions options = reading({(folder.path() / "missing").string()});
  options.sarif = (folder.path() / "out.sarif").string();
  options.junit = (folder.path() / "out.xml").string();
  EXPECT_EQ(check(options).code, ExitCode::kData);
  const json results = json::parse(base::content(options.sarif))["runs"][0]["results"];
  EXPECT_TRUE(std::any_of(results.begin(), results.end(),
                          [](const json& one) { return one["ruleId"] == "log/unreadable"; }));
  EXPECT_THAT(base::content(options.junit), HasSubstr("tests=\"1\" failures=\"1\""));
}

TEST(Check, ExplainsRules) {
  CheckOptions options;
  options.explain = "run-stop-aborted";
  const Outcome outcome = check(options);
  EXPECT_EQ(outcome.code, ExitCode::kSuccess);
  EXPECT_THAT(outcome.out, HasSubstr("run-stop-aborted"));
  options.explain = "all";
  EXPECT_THAT(check(options).out, HasSubstr("success-below-target"));
  options.explain = "common/run_stop/count";
  EXPECT_THAT(check(options).out, HasSubstr("metadata must have status"));
  options.explain = "no-such-rule";
  EXPECT_THAT(refusal(options), HasSubstr("usage: "));
}

TEST(Check, TellsTheRoundFromTheLogWhereThePathDoesNot) {
  const TemporaryDirectory folder;
  const Outcome outcome = check(reading({folder.write("any name", good_log())}));
  EXPECT_THAT(outcome.out, HasSubstr("under hpc-0.7.0 (\"cosmoflow\" is a benchmark of hpc and the "
                                     "log is of 2020-09-13, before hpc-0.7 was published"));
}

TEST(Check, LetsFlagsDecideTheRound) {
  const TemporaryDirectory folder;
  folder.write("hpc_v1.0/result_1.txt", good_log());
  CheckOptions options = reading({folder.path().string()});
  options.round = "training-4.0";
  const Outcome outcome = check(options);
  EXPECT_EQ(outcome.code, ExitCode::kNonCompliant);
  EXPECT_THAT(outcome.out, HasSubstr("training-4.0.0 (--round training-4.0 asks for it)"));
}

TEST(Check, RefusesImpossibleRounds) {
  CheckOptions options = reading({"x"});
  options.usage = "hpc";
  options.round = "2.1";
  EXPECT_THAT(refusal(options),
              HasSubstr("usage: --usage hpc --round 2.1: there is no such round"));
  options.round = "training-4.0";
  EXPECT_THAT(refusal(options), HasSubstr("no such round"));
}

TEST(Check, SaysThatARoundWithoutRulesIsNotJudgedAndReadsItsLogs) {
  const TemporaryDirectory folder;
  const std::string log =
      ":::MLPv0.5.0 ncf 1541731868.1 (ncf.py:1) run_start\n"
      ":::MLPv0.5.0 ncf 1541731878.1 (ncf.py:2) run_stop: {\"success\": false}\n";
  CheckOptions options = reading({folder.write("elsewhere/result_0.txt", log)});
  const Outcome outcome = check(options);
  EXPECT_EQ(outcome.code, base::ExitCode::kUnknownVerdict);
  EXPECT_THAT(outcome.out, HasSubstr("UNKNOWN under training-0.5.0"));
  EXPECT_THAT(outcome.out, HasSubstr("training-0.5 is not judged"));
  EXPECT_THAT(outcome.out, HasSubstr("status 'aborted'")) << "the audit goes beside";
  options.round = "training-0.5";
  EXPECT_THAT(check(options).out, HasSubstr("training-0.5 is not judged"));
}

TEST(Check, FailsLogsOfAnotherRoundsFormatForOnePlainReason) {
  const TemporaryDirectory folder;
  const std::string old = ":::MLL 1558640006.188 run_start: {\"value\": null}\n";
  folder.write("training_v0.7/result_0.txt", old);
  const Outcome outcome = check(reading({folder.path().string()}));
  EXPECT_EQ(outcome.code, ExitCode::kNonCompliant);
  EXPECT_THAT(outcome.out, HasSubstr("result_0.txt: FAIL under training-0.7.0"));
  EXPECT_THAT(outcome.out,
              HasSubstr("the log holds no record that begins with ':::MLLOG', as those of "
                        "training-0.7 do, but 1 of other rounds"));
}

TEST(Check, TurnsWarningsIntoErrorsWhenAsked) {
  const TemporaryDirectory folder;
  const std::string twice = good_log() + made::text_of(made::Line{"opt_name", "\"sgd\""});
  CheckOptions options = reading({folder.write("hpc_v1.0/result_1.txt", twice)});
  EXPECT_EQ(check(options).code, ExitCode::kSuccess);
  options.werror = true;
  EXPECT_EQ(check(options).code, ExitCode::kNonCompliant);
}

TEST(Check, ReadsStandardInput) {
  std::istringstream in(good_log());
  CheckOptions options = reading({"-"});
  options.standard_input = &in;
  const Outcome outcome = check(options);
  EXPECT_THAT(outcome.out, HasSubstr("-: "));
  EXPECT_THAT(outcome.out, HasSubstr("under hpc-0.7.0"));
  std::istringstream again(good_log());
  options.standard_input = &again;
  options.round = "hpc-1.0";
  EXPECT_EQ(check(options).code, ExitCode::kSuccess);
}

TEST(Check, EndsWithDataWhereNothingCouldBeRead) {
  const TemporaryDirectory folder;
  const std::string missing = (folder.path() / "missing").string();
  const Outcome outcome = check(reading({missing}));
  EXPECT_EQ(outcome.code, ExitCode::kData);
  EXPECT_THAT(outcome.people, HasSubstr("no such file or folder"));
  const std::string good = folder.write("hpc_v1.0/result_1.txt", good_log());
  EXPECT_EQ(check(reading({missing, good})).code, ExitCode::kData) << "as analyze has it";
}

TEST(Check, NeverOverwritesALog) {
  const TemporaryDirectory folder;
  CheckOptions options = reading({folder.write("result_1.txt", good_log())});
  options.json = options.paths[0];
  EXPECT_THAT(refusal(options), HasSubstr("is one of the files"));
  options.json = folder.write("result_1.weights.h5", "weights");
  EXPECT_THAT(refusal(options), HasSubstr("is one of the files"));
}

TEST(Check, NeverOverwritesRulesNorWritesTwoThingsIntoOneFile) {
  const TemporaryDirectory folder;
  const std::string log = folder.write("result_1.txt", good_log());
  CheckOptions options = reading({log});
  options.overlays = {folder.write("rules/site.json", R"({"usage": "hpc", "files":
      [{"file": "common", "rules": [{"key": "seed", "occurs": "any"}]}]})")};
  options.json = options.overlays[0];
  EXPECT_THAT(refusal(options), HasSubstr("is one of the files that are read"));
  options.overlays = {(folder.path() / "rules").string()};
  EXPECT_THAT(refusal(options), HasSubstr("lies in the folder"));
  options.overlays.clear();
  options.json = options.sarif = (folder.path() / "out").string();
  EXPECT_THAT(refusal(options), HasSubstr("--json already goes there"));
  options.sarif = "-";
  EXPECT_THAT(refusal(options), HasSubstr("--sarif: expected a file or folder, got '-'"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "out"));
}

TEST(Check, AppliesOverlays) {
  const TemporaryDirectory folder;
  const std::string log = folder.write("hpc_v1.0/result_1.txt", good_log());
  CheckOptions options = reading({log});
  options.overlays = {folder.write("site.json", R"({"usage": "hpc", "files": [{"file": "common",
                                     "rules": [{"key": "seed", "occurs": "exactly_one"}]}]})")};
  const Outcome outcome = check(options);
  EXPECT_EQ(outcome.code, ExitCode::kNonCompliant);
  EXPECT_THAT(outcome.out, HasSubstr("hpc-1.0.0+site"));
  EXPECT_THAT(outcome.out, HasSubstr("seed: must have exactly one record, found none"));
}

TEST(Check, WantsAPathOrAList) {
  EXPECT_THAT(refusal(CheckOptions()), HasSubstr("usage: check: expected a PATH"));
  CheckOptions options = reading({"x"});
  options.rounds = true;
  EXPECT_THAT(refusal(options), HasSubstr("take no PATH"));
}

}  // namespace
