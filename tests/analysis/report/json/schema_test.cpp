// The published schemas accept every document that is written, and reject changed ones.
#include "analysis/report/json/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "analysis/findings/compared.h"
#include "analysis/findings/make_report.h"
#include "analysis/golden.h"
#include "analysis/own_log.h"
#include "analysis/report/json/compare.h"
#include "analysis/report/json/report.h"
#include "analysis/report/schema_check.h"
#include "analysis/run_fields.h"
#include "published_logs/published_logs.h"
#include "runner/base/temporary_directory.h"

namespace {

using analysis::compare_paths;
using analysis::make_report;
using analysis::report::compare_json_text;
using analysis::report::compare_schema_text;
using analysis::report::report_json_text;
using analysis::report::report_schema_text;
using nlohmann::json;

json json_report_of(const std::vector<std::string>& paths) {
  return json::parse(report_json_text(make_report(paths)));
}

TEST(ReportSchema, HoldsForEveryKindOfLog) {
  for (const char* name : {"success", "set", "missed", "aborted", "cut_off", "hostile", "malformed",
                           "nan_loss", "no_target", "empty", "binary"}) {
    EXPECT_EQ(schema_check::fault(report_schema_text(), json_report_of({golden::folder(name)})), "")
        << name;
  }
}

TEST(ReportSchema, HoldsForValuesOfOddKinds) {
  for (const json& value : {json("64"), json(true), json::array({1}), json(nullptr)}) {
    const base::TemporaryDirectory folder;
    own_log::Log log = own_log::clean();
    log["global_batch_size"]["value"] = value;
    log.at("eval_error", 0)["time_ms"] = 1.7e308;
    folder.write("result_1.txt", log.text());
    EXPECT_EQ(schema_check::fault(report_schema_text(), json_report_of({folder.path().string()})),
              "");
  }
}

TEST(ReportSchema, HoldsForPublishedLogs) {
  const std::string logs = published::folder().string();
  if (logs.empty()) GTEST_SKIP() << published::kAbsent;
  const json report = json_report_of({logs});
  EXPECT_GT(report["files"].size(), 100u);
  EXPECT_EQ(schema_check::fault(report_schema_text(), report), "");
}

/// The schema rejects a valid report after each of the changes.
TEST(ReportSchema, HoldsForNothingElse) {
  const json whole = json_report_of({golden::folder("set")});
  const std::string log = whole["files"].begin().key(), set = whole["systems"].begin().key();
  const std::vector<std::function<void(json&)>> changes = {
      [](json& r) { r["schema"] = 2; },
      [](json& r) { r.erase("definitions"); },
      [](json& r) { r["more"] = 1; },
      [&](json& r) { r["files"][log]["ttt_s"] = "fast"; },
      [&](json& r) { r["files"][log].erase("outcome"); },
      [&](json& r) { r["files"][log]["unheard"] = 1; },
      [&](json& r) { r["files"][log]["convergence"][0].erase("time_s"); },
      [&](json& r) {
        r["files"][log]["findings"] = {{{"rule", "x"}}};
      },
      [&](json& r) { r["systems"][set]["olympic_mean_s"] = true; },
      [&](json& r) { r["systems"][set]["olympic_files"] = "a b"; },
      [](json& r) {
        r["problems"] = {{{"path", 1}, {"text", ""}}};
      },
  };
  EXPECT_EQ(schema_check::fault(report_schema_text(), whole), "");
  for (std::size_t i = 0; i < changes.size(); ++i) {
    json spoilt = whole;
    changes[i](spoilt);
    EXPECT_NE(schema_check::fault(report_schema_text(), spoilt), "") << "change " << i;
  }
}

TEST(ReportSchema, DescribesEveryFigure) {
  const json schema = json::parse(report_schema_text());
  const json& run = schema["properties"]["files"]["additionalProperties"]["properties"];
  for (const auto& field : analysis::run_fields()) {
    EXPECT_NE(run[field.name]["description"].get<std::string>().find(field.definition),
              std::string::npos);
  }
}

TEST(CompareSchema, HoldsForComparisonsOfRuns) {
  const json document = json::parse(
      compare_json_text(compare_paths({golden::folder("set"), golden::folder("set")}, {}, 1)));
  EXPECT_EQ(schema_check::fault(compare_schema_text(), document), "");
  for (const char* const member : {"groups", "per", "left_out", "definitions", "schema", "kind"}) {
    json spoilt = document;
    spoilt.erase(member);
    EXPECT_NE(schema_check::fault(compare_schema_text(), spoilt), "") << member;
  }
  json spoilt = document;
  spoilt["groups"][0]["comparisons"][0]["total"]["ratio"] = nullptr;
  EXPECT_NE(schema_check::fault(compare_schema_text(), spoilt), "");
}

}  // namespace
