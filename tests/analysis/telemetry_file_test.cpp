// Telemetry next to a log.
#include "analysis/telemetry_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/findings/make_report.h"
#include "analysis/golden.h"
#include "runner/base/content.h"
#include "runner/base/temporary_directory.h"

namespace {

using analysis::Finding;
using analysis::Part;
using analysis::read_telemetry_of;

const Part& part_of(const analysis::RunTelemetry& telemetry, std::string_view name) {
  for (const Part& part : telemetry.subsystems.parts) {
    if (part.name == name) return part;
  }
  throw std::runtime_error("no part " + std::string(name));
}

TEST(TelemetryBeside, GivesTheSpreadOverTheRanks) {
  const base::TemporaryDirectory folder;
  folder.write("result_3.telemetry.json", golden::telemetry_text());
  std::vector<Finding> findings;
  const auto telemetry = read_telemetry_of(folder.path() / "result_3.txt", findings);
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
  const base::TemporaryDirectory folder;
  folder.write("result_3.telemetry.json", golden::telemetry_text());
  std::vector<Finding> findings;
  const auto telemetry = read_telemetry_of(folder.path() / "result_3.txt", findings);
  ASSERT_TRUE(telemetry);
  double sum = 0.0;
  for (const Part& part : telemetry->subsystems.parts) sum += *part.percent;
  EXPECT_EQ(telemetry->subsystems.parts.size(), std::size_t{telemetry::kSubsystemCount});
  EXPECT_NEAR(sum, 100.0, 1e-9);
}

TEST(TelemetryBeside, ShowsTheProvenance) {
  const base::TemporaryDirectory folder;
  folder.write("result_3.telemetry.json", golden::telemetry_text());
  std::vector<Finding> findings;
  const auto telemetry = read_telemetry_of(folder.path() / "result_3.txt", findings);
  ASSERT_TRUE(telemetry);
  ASSERT_EQ(telemetry->provenance.size(), 1u);
  EXPECT_EQ(telemetry->provenance[0].first, "machine.cpu_model");
  EXPECT_EQ(telemetry->provenance[0].second, "Demo <CPU>");
}

TEST(TelemetryBeside, IsAbsentWithoutAFile) {
  const base::TemporaryDirectory folder;
  std::vector<Finding> findings;
  EXPECT_FALSE(read_telemetry_of(folder.path() / "result_3.txt", findings));
  EXPECT_TRUE(findings.empty());
}

TEST(TelemetryBeside, ThatIsDamagedIsAFindingAndTheLogsOwnPartsRemain) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt", base::content(golden::folder("success") + "/result_1.txt"));
  folder.write("result_1.telemetry.json", "{\"schema\": 1, ");
  const analysis::Report report = analysis::make_report({folder.path().string()});
  ASSERT_EQ(report.runs.size(), 1u);
  EXPECT_FALSE(report.runs[0].telemetry);
  ASSERT_EQ(report.runs[0].findings.size(), 1u);
  EXPECT_EQ(report.runs[0].findings[0].rule, "telemetry-damaged");
  EXPECT_EQ(report.runs[0].best_breakdown(), &*report.runs[0].log_parts);
}

analysis::RunReport run_with(const nlohmann::json& telemetry) {
  const base::TemporaryDirectory folder;
  folder.write("result_1.txt", golden::ten_seconds_log());
  folder.write("result_1.telemetry.json", telemetry.dump());
  return analysis::make_report({folder.path().string()}).runs.at(0);
}

/// The findings about telemetry.
std::vector<std::string> told_of(const analysis::RunReport& run) {
  std::vector<std::string> texts;
  for (const Finding& finding : run.findings) {
    if (finding.text.find("telemetry") != std::string::npos) texts.push_back(finding.text);
  }
  return texts;
}

std::vector<std::string> quantities_of(const analysis::RunReport& run) {
  std::vector<std::string> names;
  for (const analysis::Quantity& quantity : run.telemetry->quantities) {
    names.push_back(quantity.name);
  }
  return names;
}

TEST(TelemetryBeside, ShowsNoCountsThatItsVersionDidNotTake) {
  nlohmann::json telemetry = golden::late_telemetry();
  telemetry["ranks"][0]["counters"]["bytes_from_copy"] = 30;
  const analysis::RunReport now = run_with(telemetry);
  EXPECT_THAT(quantities_of(now), testing::IsSupersetOf({"bytes_from_copy", "repaired_samples"}));
  for (nlohmann::json& rank : telemetry["ranks"]) {
    for (const char* later :
         {"bytes_from_cache_memory", "bytes_from_cache_disk", "bytes_from_peers",
          "samples_from_cache_memory", "samples_from_cache_disk", "samples_from_peers"}) {
      rank["counters"].erase(later);
    }
  }
  const analysis::RunReport uncached = run_with(telemetry);
  EXPECT_EQ(quantities_of(uncached).size() + 6, quantities_of(now).size());
  EXPECT_TRUE(now.telemetry->cache);
  EXPECT_FALSE(uncached.telemetry->cache);
  EXPECT_TRUE(uncached.telemetry->levels);
  for (nlohmann::json& rank : telemetry["ranks"]) {
    for (const char* later : {"bytes_from_copy", "bytes_from_source", "samples_from_copy",
                              "samples_from_source", "repaired_samples"}) {
      rank["counters"].erase(later);
    }
  }
  for (nlohmann::json& rank : telemetry["ranks"]) rank["counters"].erase("gradient_bytes_sent");
  const analysis::RunReport before = run_with(telemetry);
  ASSERT_TRUE(before.telemetry);
  EXPECT_EQ(quantities_of(before).size() + 5 + 2, quantities_of(uncached).size());
  EXPECT_THAT(quantities_of(before), testing::Not(testing::Contains("bytes_from_copy")));
}

TEST(TelemetryBeside, IsNoFindingWhereItCoversTheRun) {
  const analysis::RunReport run = run_with(golden::late_telemetry());
  EXPECT_TRUE(run.telemetry);
  EXPECT_THAT(told_of(run), testing::IsEmpty());
}

TEST(TelemetryBeside, WhosePartsDoNotAddUpIsAFindingAndNotShown) {
  nlohmann::json telemetry = golden::late_telemetry();
  telemetry["ranks"][1]["subsystems_s"]["input"] = 3.8;
  const analysis::RunReport run = run_with(telemetry);
  EXPECT_FALSE(run.telemetry);
  ASSERT_THAT(told_of(run), testing::SizeIs(1));
  EXPECT_THAT(told_of(run)[0], testing::HasSubstr("/ranks/1/subsystems_s: must sum to wall_s 10 "
                                                  "within 1 %, but sums to 9.8"));
}

TEST(TelemetryBeside, ThatDoesNotCoverTheLogsRunIsAFinding) {
  nlohmann::json telemetry = golden::late_telemetry();
  for (const char* part : {"input", "forward"}) telemetry["ranks"][1]["subsystems_s"][part] = 4.7;
  telemetry["ranks"][1]["wall_s"] = 11.4;
  const analysis::RunReport run = run_with(telemetry);
  EXPECT_TRUE(run.telemetry);
  EXPECT_THAT(told_of(run),
              testing::ElementsAre("telemetry: a rank accounts for 11.400 s, the log's run lasted "
                                   "10.000 s; expected within 1 % and 1 s"));
}

TEST(TelemetryBeside, ThatCostTooMuchIsAFinding) {
  nlohmann::json telemetry = golden::late_telemetry();
  telemetry["ranks"][0]["scope_cost_s"] = 0.2;
  const analysis::RunReport run = run_with(telemetry);
  ASSERT_THAT(told_of(run), testing::SizeIs(1));
  EXPECT_THAT(told_of(run)[0], testing::HasSubstr("measuring cost 1.0"));
  EXPECT_THAT(told_of(run)[0], testing::HasSubstr("expected below 0.5 %"));
}

}  // namespace
