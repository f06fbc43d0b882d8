// The CSV tables, read back by a small RFC 4180 reader.
#include "analysis/report/csv/report.h"

#include <gtest/gtest.h>

#include "analysis/findings/make_report.h"
#include "analysis/golden.h"
#include "analysis/run_fields.h"
#include "runner/base/content.h"
#include "runner/base/temporary_directory.h"

namespace {

using Row = std::vector<std::string>;

/// Throws std::runtime_error for a misplaced quote or a line that does not end in CRLF.
std::vector<Row> read_csv(const std::string& text) {
  std::vector<Row> rows(1, Row(1));
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"') {
        rows.back().back() += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        rows.back().back() += text[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      if (!rows.back().back().empty()) throw std::runtime_error("quote inside a plain cell");
      quoted = true;
    } else if (c == ',') {
      rows.back().emplace_back();
    } else if (c == '\r') {
      if (text.at(++i) != '\n') throw std::runtime_error("CR without LF");
      rows.emplace_back(1);
    } else if (c == '\n') {
      throw std::runtime_error("LF without CR");
    } else {
      rows.back().back() += c;
    }
  }
  if (quoted || rows.back() != Row(1)) throw std::runtime_error("no line end at the end");
  rows.pop_back();
  return rows;
}

std::string cell(const std::vector<Row>& rows, std::size_t row, const std::string& column) {
  for (std::size_t i = 0; i < rows[0].size(); ++i) {
    if (rows[0][i] == column) return rows[row][i];
  }
  throw std::runtime_error("no column " + column);
}

TEST(CsvLine, QuotesWhatMustBeQuoted) {
  EXPECT_EQ(analysis::report::csv_line({"a", "b,c", "say \"x\"", "two\r\nlines", ""}),
            "a,\"b,c\",\"say \"\"x\"\"\",\"two\r\nlines\",\r\n");
  EXPECT_EQ(analysis::report::csv_line({"", ""}), ",\r\n");
}

TEST(CsvLine, HoldsNothingThatASpreadsheetWouldCompute) {
  EXPECT_EQ(analysis::report::csv_line({"=cmd|' /C calc'!A0", "+1", "-1+1", "@SUM(A1)", "\tx"}),
            "'=cmd|' /C calc'!A0,'+1,'-1+1,'@SUM(A1),'\tx\r\n");
  EXPECT_EQ(analysis::report::csv_line({"-1", "-1.5e-07", "a=b", "-"}), "-1,-1.5e-07,a=b,'-\r\n");
}

TEST(ReportCsv, HasARowForEachRunWithEveryFigure) {
  const auto rows =
      read_csv(analysis::report::runs_csv(analysis::make_report({golden::folder("set")})));
  ASSERT_EQ(rows.size(), 7u);
  for (const Row& row : rows) EXPECT_EQ(row.size(), analysis::run_fields().size() + 1);
  EXPECT_EQ(cell(rows, 2, "log"), "results/demo/resnet/result_1.txt");
  EXPECT_EQ(cell(rows, 2, "ttt_s"), "44.032");
  EXPECT_EQ(cell(rows, 4, "outcome"), "aborted");
}

TEST(ReportCsv, LeavesAbsentFiguresEmpty) {
  const auto rows =
      read_csv(analysis::report::runs_csv(analysis::make_report({golden::folder("cut_off")})));
  EXPECT_EQ(cell(rows, 1, "ttt_s"), "");
  EXPECT_EQ(cell(rows, 1, "epochs_run"), "3");
}

TEST(ReportCsv, KeepsHostileTextInItsCell) {
  const auto rows =
      read_csv(analysis::report::runs_csv(analysis::make_report({golden::folder("hostile")})));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(cell(rows, 1, "submission_org"), "<img src=x onerror=alert(2)>, \"quoted\"  =1+1");
}

TEST(ReportCsv, HasARowForEachEvaluation) {
  const auto rows = read_csv(
      analysis::report::convergence_csv(analysis::make_report({golden::folder("success")})));
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(cell(rows, 4, "quality"), "0.8125");
  EXPECT_EQ(cell(rows, 4, "at_target"), "true");
  EXPECT_EQ(cell(rows, 3, "at_target"), "false");
}

TEST(ReportCsv, HasARowForEachPart) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt", base::content(golden::folder("success") + "/result_1.txt"));
  folder.write("result_1.telemetry.json", golden::telemetry_text());
  const auto rows =
      read_csv(analysis::report::subsystems_csv(analysis::make_report({folder.path().string()})));
  ASSERT_EQ(rows.size(), 1 + telemetry::kSubsystemCount + 4u);
  EXPECT_EQ(cell(rows, 2, "part"), "input");
  EXPECT_EQ(cell(rows, 2, "source"), "telemetry");
  EXPECT_EQ(cell(rows, 2, "max_s"), "3");
}

TEST(ReportCsv, HasARowForEachKindOfTransfer) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt", golden::ten_seconds_log());
  folder.write("result_1.trace.json", golden::trace_text());
  const auto rows =
      read_csv(analysis::report::transfers_csv(analysis::make_report({folder.path().string()})));
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(cell(rows, 1, "transfer"), "gradients");
  EXPECT_EQ(cell(rows, 1, "bytes"), "150");
  EXPECT_EQ(cell(rows, 1, "count"), "1.5");
  EXPECT_EQ(cell(rows, 4, "transfer"), "all");
  EXPECT_EQ(cell(rows, 4, "in_flight_s"), "0.3");
}

TEST(ReportCsv, HasARowForEachRankThatWasWaitedFor) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt", golden::ten_seconds_log());
  folder.write("result_1.telemetry.json", golden::late_telemetry().dump());
  const auto rows =
      read_csv(analysis::report::waiting_csv(analysis::make_report({folder.path().string()})));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(cell(rows, 1, "what"), "straggler");
  EXPECT_EQ(cell(rows, 1, "rank"), "1");
  EXPECT_EQ(cell(rows, 1, "host"), "node<1>");
  EXPECT_EQ(cell(rows, 1, "part"), "input");
  EXPECT_EQ(cell(rows, 1, "others_waited_s"), "4");
}

TEST(ReportCsv, HasARowForARunWhoseExchangeDominates) {
  nlohmann::json telemetry = golden::late_telemetry();
  telemetry["ranks"][1]["subsystems_s"]["input"] = 0.0;
  telemetry["ranks"][1]["subsystems_s"]["exchange"] = 4.0;
  telemetry["ranks"][1]["counters"]["bytes_sent"] = 300;
  telemetry["ranks"][1]["counters"]["exchange_total_ns"] = 2'000'000'000;
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt", golden::ten_seconds_log());
  folder.write("result_1.telemetry.json", telemetry.dump());
  const auto rows =
      read_csv(analysis::report::waiting_csv(analysis::make_report({folder.path().string()})));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(cell(rows, 1, "what"), "slow_exchange");
  EXPECT_EQ(cell(rows, 1, "part_s"), "4");
  EXPECT_EQ(cell(rows, 1, "bytes_per_s"), "150");
}

}  // namespace
