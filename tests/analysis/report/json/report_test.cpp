// The JSON document, read back.
#include "analysis/report/json/report.h"

#include <gtest/gtest.h>

#include "analysis/findings/make_report.h"
#include "analysis/golden.h"
#include "analysis/submission/power_logs.h"
#include "runner/base/content.h"
#include "runner/base/temporary_directory.h"

namespace {

using nlohmann::json;

json document(const std::string& name) {
  return json::parse(
      analysis::report::report_json_text(analysis::make_report({golden::folder(name)})));
}

TEST(ReportJson, HoldsTheFiguresOfEachFile) {
  const json report = document("success");
  EXPECT_EQ(report["schema"], 1);
  const json& run = report["files"]["result_1.txt"];
  EXPECT_EQ(run["outcome"], "success");
  EXPECT_DOUBLE_EQ(run["ttt_s"].get<double>(), 44.032);
  EXPECT_EQ(run["seed"], 7);
  EXPECT_EQ(run["convergence"].size(), 4u);
  EXPECT_EQ(run["convergence"][3]["epoch_num"], 4.0);
  EXPECT_DOUBLE_EQ(run["parts"]["parts"]["train"]["mean_s"].get<double>(), 40.010);
  EXPECT_TRUE(run["telemetry"].is_null());
}

TEST(ReportJson, DefinesEveryFigureInIt) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt", base::content(golden::folder("success") + "/result_1.txt"));
  folder.write("result_1.telemetry.json", golden::telemetry_text());
  folder.write("result_1.trace.json", golden::trace_text());
  const json report = json::parse(
      analysis::report::report_json_text(analysis::make_report({folder.path().string()})));
  const json& definitions = report["definitions"];
  const auto defined = [&](const std::string& name) {
    return definitions.contains(name) && definitions[name]["definition"] != "";
  };
  const json& run = report["files"]["result_1.txt"];
  for (const auto& [name, value] : run.items()) {
    const bool is_container =
        name == "telemetry" || name == "trace" || name == "provenance" || name == "findings";
    EXPECT_TRUE(is_container || defined(name)) << name;
  }
  for (const auto& [name, value] : run["telemetry"]["subsystems"]["parts"].items()) {
    EXPECT_TRUE(defined("subsystems." + name)) << name;
  }
  EXPECT_DOUBLE_EQ(run["trace"]["compute_s"].get<double>(), 0.3);
  EXPECT_EQ(run["trace"]["transfers"].size(), 4U) << "three names and all";
  for (const auto& [name, value] : run["trace"].items()) EXPECT_TRUE(defined(name)) << name;
  for (const auto& [name, value] : run["telemetry"]["quantities"].items()) {
    EXPECT_TRUE(defined("quantities." + name)) << name;
  }
  for (const auto& [name, value] : report["systems"]["."].items()) {
    EXPECT_TRUE(name == "findings" || defined(name)) << name;
  }
}

TEST(ReportJson, TellsTheEnergyOfASet) {
  const base::TemporaryDirectory folder;
  for (const char* const run : {"result_1", "result_2", "result_3"}) {
    folder.write(std::string(run) + ".txt",
                 base::content(golden::folder("success") + "/result_1.txt"));
    folder.write(std::string("power/") + run + "/node_0.txt",
                 golden::node_log(golden::readings(60, [](int) { return 500.0; }), "0.9"));
  }
  folder.write("scaling.json", R"({"scaling_factor": 2})");
  const json told = json::parse(
      analysis::report::report_json_text(analysis::make_report({folder.path().string()})));
  const json& energy = told["systems"]["."]["energy"];
  // 450 W during the 44.032 s of each run; only the middle run counts.
  EXPECT_DOUBLE_EQ(energy["mean_energy_j"].get<double>(), 450 * 44.032);
  EXPECT_DOUBLE_EQ(energy["energy_j"].get<double>(), 2 * 450 * 44.032);
  EXPECT_EQ(energy["scaling_factor"], 2.0);
  EXPECT_EQ(energy["runs"].size(), 3u);
  const json& run = energy["runs"]["result_2.txt"];
  EXPECT_EQ(run["counts"], true);
  EXPECT_DOUBLE_EQ(run["logs"]["node_0.txt"]["energy_j"].get<double>(), 27000.0);
  const auto are_defined = [&](const json& figures, const std::string& prefix) {
    for (const auto& [name, value] : figures.items()) {
      if (name == "runs" || name == "logs") continue;
      EXPECT_NE(told["definitions"][prefix + name].value("definition", ""), "") << name;
    }
  };
  are_defined(energy, "energy.");
  are_defined(run, "energy.runs.");
  are_defined(run["logs"]["node_0.txt"], "energy.logs.");
  EXPECT_TRUE(document("set")["systems"]["results/demo/resnet"]["energy"].is_null());
}

TEST(ReportJson, NamesTheRankThatWasWaitedFor) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt", golden::ten_seconds_log());
  folder.write("result_1.telemetry.json", golden::late_telemetry().dump());
  const json report = json::parse(
      analysis::report::report_json_text(analysis::make_report({folder.path().string()})));
  const json& telemetry = report["files"]["result_1.txt"]["telemetry"];
  ASSERT_EQ(telemetry["stragglers"].size(), 1u);
  EXPECT_EQ(telemetry["stragglers"][0]["rank"], 1);
  EXPECT_EQ(telemetry["stragglers"][0]["where_s"], (json{{"input", 4.0}}));
  EXPECT_TRUE(telemetry["slow_exchange"].is_null());
  EXPECT_NE(report["definitions"]["stragglers"]["definition"], "");
  EXPECT_NE(report["definitions"]["slow_exchange"]["definition"], "");
}

TEST(ReportJson, WritesWhatIsNotFiniteAsNull) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt",
               ":::MLLOG {\"time_ms\": 1, \"key\": \"run_start\"}\n"
               ":::MLLOG {\"time_ms\": 2, \"key\": \"eval_accuracy\", \"value\": NaN}\n");
  const json report = json::parse(
      analysis::report::report_json_text(analysis::make_report({folder.path().string()})));
  const json& run = report["files"]["result_1.txt"];
  EXPECT_EQ(run["n_evals"], 1);
  EXPECT_TRUE(run["convergence"][0]["quality"].is_null());
}

TEST(ReportJson, IsValidUtf8WhateverTheLogHolds) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt",
               ":::MLLOG {\"time_ms\": 1, \"key\": \"submission_org\", \"value\": \"\xff\xfe\"}\n");
  const json report = json::parse(
      analysis::report::report_json_text(analysis::make_report({folder.path().string()})));
  EXPECT_EQ(report["files"]["result_1.txt"]["submission_org"], "ÿþ");
}

TEST(ReportJson, HoldsTheFindingsWithTheirPlaces) {
  const json findings = document("malformed")["files"]["result_1.txt"]["findings"];
  ASSERT_EQ(findings.size(), 4u);
  EXPECT_EQ(findings[1]["line"], 12);
  EXPECT_EQ(findings[1]["column"], 9);
  EXPECT_EQ(findings[1]["severity"], "error");
  EXPECT_EQ(findings[1]["rule"], "malformed-record");
}

TEST(ReportJson, IsAsciiThoughLogsAndTelemetryAreNot) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt", golden::ten_seconds_log());
  json telemetry = json::parse(golden::telemetry_text());
  telemetry["provenance"]["host"] = "\x1b]0;x\x07\xc2\x9b\xe2\x80\xae";
  folder.write("result_1.telemetry.json", telemetry.dump());
  const std::string text =
      analysis::report::report_json_text(analysis::make_report({folder.path().string()}));
  EXPECT_TRUE(
      std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x7f; }));
  EXPECT_NE(text.find("\\u009b"), std::string::npos);
}

}  // namespace
