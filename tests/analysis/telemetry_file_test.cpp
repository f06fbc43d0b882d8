// Telemetry beside a log.
// Hides nothing.
#include "analysis/telemetry_file.h"

#include <gtest/gtest.h>

#include "golden.h"

namespace {

using analysis::Finding;
using analysis::Part;
using analysis::read_telemetry_beside;

const Part& part_of(const analysis::RunTelemetry& telemetry, const std::string& name) {
  for (const Part& part : telemetry.subsystems.parts) {
    if (part.name == name) return part;
  }
  throw std::runtime_error("no part " + name);
}

TEST(TelemetryBeside, GivesTheSpreadOverTheRanks) {
  const golden::TemporaryFolder folder;
  folder.write("result_3.telemetry.json", golden::telemetry_text());
  std::vector<Finding> findings;
  const auto telemetry = read_telemetry_beside(folder.path() / "result_3.txt", findings);
  ASSERT_TRUE(telemetry) << (findings.empty() ? "" : findings[0].text);
  EXPECT_EQ(telemetry->ranks, 2);
  const Part& input = part_of(*telemetry, "input");
  EXPECT_DOUBLE_EQ(input.min_s, 1.0);
  EXPECT_DOUBLE_EQ(input.mean_s, 2.0);
  EXPECT_DOUBLE_EQ(input.max_s, 3.0);
  EXPECT_EQ(input.max_rank, 1);
  EXPECT_DOUBLE_EQ(*input.percent, 20.0);
  EXPECT_NE(input.definition, "");
  EXPECT_DOUBLE_EQ(*telemetry->overhead_fraction, 0.002 / 20.0);
}

TEST(TelemetryBeside, HasEverySubsystemAndTheirPercentsSumToTheWhole) {
  const golden::TemporaryFolder folder;
  folder.write("result_3.telemetry.json", golden::telemetry_text());
  std::vector<Finding> findings;
  const auto telemetry = read_telemetry_beside(folder.path() / "result_3.txt", findings);
  ASSERT_TRUE(telemetry);
  double sum = 0.0;
  for (const Part& part : telemetry->subsystems.parts) sum += *part.percent;
  EXPECT_EQ(telemetry->subsystems.parts.size(), std::size_t{telemetry::kSubsystemCount});
  EXPECT_NEAR(sum, 100.0, 1e-9);
}

TEST(TelemetryBeside, ShowsTheProvenance) {
  const golden::TemporaryFolder folder;
  folder.write("result_3.telemetry.json", golden::telemetry_text());
  std::vector<Finding> findings;
  const auto telemetry = read_telemetry_beside(folder.path() / "result_3.txt", findings);
  ASSERT_TRUE(telemetry);
  ASSERT_EQ(telemetry->provenance.size(), 1u);
  EXPECT_EQ(telemetry->provenance[0].first, "machine.cpu_model");
  EXPECT_EQ(telemetry->provenance[0].second, "Demo <CPU>");
}

TEST(TelemetryBeside, IsAbsentWithoutAFile) {
  const golden::TemporaryFolder folder;
  std::vector<Finding> findings;
  EXPECT_FALSE(read_telemetry_beside(folder.path() / "result_3.txt", findings));
  EXPECT_TRUE(findings.empty());
}

TEST(TelemetryBeside, ThatIsDamagedIsAFindingAndTheLogsOwnPartsRemain) {
  const golden::TemporaryFolder folder;
  folder.write("result_1.txt", golden::content(golden::folder("success") + "/result_1.txt"));
  folder.write("result_1.telemetry.json", "{\"schema\": 1, ");
  const analysis::Report report = analysis::make_report({folder.path().string()});
  ASSERT_EQ(report.runs.size(), 1u);
  EXPECT_FALSE(report.runs[0].telemetry);
  EXPECT_EQ(report.runs[0].findings.size(), 1u);
  EXPECT_EQ(report.runs[0].best_breakdown(), &*report.runs[0].log_parts);
}

}  // namespace
