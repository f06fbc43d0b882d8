// Text and document of made-up reports.
#include "runner/doctor/report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace doctor {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const Finding kFine{"clock.source", Verdict::kOk, "", "25 ns", "", "", 25.0};
const Finding kSmallShm{"memory.shm", Verdict::kError, "", "64 MiB free", "1 GiB", "remount", {}};
const Finding kSmt{"cpu.smt", Verdict::kNote, "", "on", "one thread a core", "bind", {}};

Report some_report() {
  Report report;
  report.ranks = report.started_ranks = 6;
  for (const char* host : {"node1", "node2", "node3"}) {
    report.nodes.push_back({host, 2, 2, 2, {kFine, kSmt}});
  }
  report.between = compare_rates("rate.memory", {"node1", "node2", "node3"}, {20e9, 20e9, 9e9});
  report.network.links = {{0, 1, 2e-5, 1e9, 8}};
  report.network.sums = {{4, 1e-5, true}};
  return report;
}

std::string text_of(const Report& report) {
  std::ostringstream out;
  print_report(report, out);
  return out.str();
}

TEST(ReportText, CountsWhatIsFineAndNamesTheRestWithItsRemedy) {
  const std::string text = text_of(some_report());
  EXPECT_THAT(text, HasSubstr("3 nodes, 6 ranks\n"));
  EXPECT_THAT(text, HasSubstr("5 checks fine\n"));
  EXPECT_THAT(text, HasSubstr("warning   rate.memory         node3: slow: 9.0 GB/s\n"));
  EXPECT_THAT(text, HasSubstr("mend: bind\n"));
  EXPECT_THAT(text, Not(HasSubstr("clock.source")));
  EXPECT_THAT(text, HasSubstr("training can run here: 1 warning, 3 notes\n"));
}

TEST(ReportText, TellsWhatNodesHaveInCommonOnce) {
  const std::string text = text_of(some_report());
  EXPECT_THAT(text, HasSubstr("note      cpu.smt             node1, node2, node3: on\n"));
  EXPECT_EQ(text.find("cpu.smt"), text.rfind("cpu.smt"));
}

TEST(ReportText, TellsMedianAndEndsOfARate) {
  EXPECT_THAT(text_of(some_report()),
              HasSubstr("rate.memory       median 20.0 GB/s, from 9.0 GB/s (node3) to "));
}

TEST(ReportText, OfASingleNodeNamesNoHosts) {
  Report report;
  report.nodes = {{"box", 1, 2, 2, {kFine, kSmallShm}}};
  report.configuration = "x.json";
  const std::string text = text_of(report);
  EXPECT_THAT(text, HasSubstr("box, 1 rank, for x.json\n"));
  EXPECT_THAT(text, HasSubstr("error     memory.shm          64 MiB free\n"));
  EXPECT_THAT(text,
              HasSubstr("this configuration cannot run here: 1 error, 0 warnings, 0 notes\n"));
}

TEST(ReportDocument, HoldsEverything) {
  Report report = some_report();
  const json document = report_document(report);
  EXPECT_EQ(document.at("verdict"), "warning");
  EXPECT_EQ(document.at("exit_code"), 0);
  EXPECT_EQ(document.at("counts").at("ok"), 5);
  EXPECT_EQ(document.at("counts").at("note"), 3);
  EXPECT_TRUE(document.at("configuration").is_null());
  EXPECT_EQ(document.at("nodes").at(2).at("host"), "node3");
  EXPECT_EQ(document.at("nodes").at(2).at("findings").size(), 2);
  EXPECT_EQ(document.at("between_nodes").size(), 3);
  EXPECT_EQ(document.at("network").at("links").at(0).at("right"), "node2");
  EXPECT_EQ(document.at("network").at("sums").at(0).at("is_exact"), true);
  for (const json& finding : document.at("between_nodes")) {
    EXPECT_TRUE(document.at("checks").contains(finding.at("id").get<std::string>()));
  }
  report.nodes.at(1).findings.push_back(kSmallShm);
  EXPECT_EQ(report_document(report).at("exit_code"), 4);
  EXPECT_EQ(report_document(report).at("verdict"), "error");
}

}  // namespace
}  // namespace doctor
