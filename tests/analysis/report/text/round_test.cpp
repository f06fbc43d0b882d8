// The systems of a round as text.
#include "analysis/report/text/round.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "analysis/findings/round_rows.h"
#include "analysis/report/text/report.h"

namespace {

using analysis::report::Detail;

analysis::SystemReport system_of(const std::string& name, std::optional<double> score_s) {
  analysis::SystemReport system;
  system.name = name;
  system.facts.benchmark = "resnet";
  system.facts.runs = 5;
  system.facts.successful = 4;
  system.facts.score_s = score_s;
  system.facts.compute_units = 16.0;
  system.facts.olympic.epochs_run = 36.0;
  system.facts.olympic.train_throughput = 1234.5;
  return system;
}

TEST(TextRound, HasALinePerSystemBestScoreFirst) {
  analysis::Report report;
  report.systems = {system_of("Slow/results/pod/resnet", 120.0),
                    system_of("None/results/rack/resnet", std::nullopt),
                    system_of("Fast/results/cluster/resnet", 60.0)};
  std::ostringstream out;
  analysis::report::TextPage page(out, 100);
  write_text(page, report, Detail::kScreen);
  EXPECT_EQ(out.str(),
            "resnet\n"
            "  submitter  system   units    runs  score min  epochs  samples/s\n"
            "  Fast       cluster     16  4 of 5       1.00      36     1234.5\n"
            "  Slow       pod         16  4 of 5       2.00      36     1234.5\n"
            "  None       rack        16  4 of 5          -      36     1234.5\n");
}

TEST(TextRound, MarksTheSystemWhoseTimesAreInAnotherUnit) {
  analysis::Report report;
  report.systems = {system_of("Slow/results/pod/resnet", 120.0), system_of("quick/resnet", 0.06)};
  report.systems.back().facts.other_unit = "likely seconds (s) since 1970";
  const auto rows = analysis::rows_of_round(report).at("resnet");
  EXPECT_EQ(rows.at(0).name, "quick (time_ms is likely seconds (s) since 1970)");
  EXPECT_EQ(rows.at(1).name, "pod");
  report.systems.front().facts.other_unit = "in an unknown unit";
  EXPECT_EQ(analysis::rows_of_round(report).at("resnet").at(1).name,
            "pod (time_ms is in an unknown unit)");
}

TEST(TextRound, TakesSubmittersFromPathsOfSubmissionsOnly) {
  analysis::Report report;
  report.systems = {system_of("node7/resnet50", 60.0),
                    system_of("v3.0/HPE+LBNL/results/pod/strong/resnet", 120.0)};
  const auto rows = analysis::rows_of_round(report).at("resnet");
  EXPECT_EQ(rows.at(0).submitter, "-");
  EXPECT_EQ(rows.at(0).name, "node7/resnet50");
  EXPECT_EQ(rows.at(1).submitter, "HPE+LBNL");
  EXPECT_EQ(rows.at(1).name, "v3.0/pod/strong");
}

TEST(TextRound, RatesSystemsThatTrainedInstancesTogether) {
  analysis::Report report;
  report.systems = {system_of("A/results/pod/resnet", std::nullopt),
                    system_of("B/results/rack/resnet", std::nullopt)};
  EXPECT_FALSE(analysis::is_round(report)) << "nothing to rank: the runs are shown";
  report.systems.front().facts.ttta_s = 120.0;
  ASSERT_TRUE(analysis::is_round(report));
  std::ostringstream out;
  analysis::report::TextPage page(out, 100);
  write_text(page, report, Detail::kScreen);
  EXPECT_THAT(out.str(), testing::HasSubstr(" models/min\n"));
  EXPECT_THAT(out.str(), testing::HasSubstr(" 2.00\n")) << "4 models in 2 minutes";
}

}  // namespace
