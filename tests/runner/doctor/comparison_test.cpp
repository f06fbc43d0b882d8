// Slow and deviating nodes among made-up ones.
#include "runner/doctor/comparison.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "find_finding.h"

namespace doctor {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Hosts kHosts = {"node1", "node2", "node3", "node4"};

std::vector<std::string> not_fine(const Findings& findings) {
  std::vector<std::string> subjects;
  for (const Finding& finding : findings) {
    if (finding.verdict != Verdict::kOk) subjects.push_back(finding.subject);
  }
  return subjects;
}

TEST(QuantityText, IsInTheUnitThatFits) {
  EXPECT_EQ(quantity_text(19.84e9, "bytes/s"), "19.8 GB/s");
  EXPECT_EQ(quantity_text(9.6e6, "bytes/s"), "9.6 MB/s");
  EXPECT_EQ(quantity_text(34.12e-6, "s"), "34.1 us");
  EXPECT_EQ(quantity_text(0.0123, "s"), "12.3 ms");
  EXPECT_EQ(quantity_text(2.5, "s"), "2.50 s");
  EXPECT_EQ(quantity_text(48e9, "flop/s"), "48.0 GFLOP/s");
  EXPECT_EQ(quantity_text(4194304, "bytes"), "4.0 MiB");
}

TEST(CompareRates, NamesTheNodeBelowFourFifthsOfTheMedian) {
  const Findings findings = compare_rates("rate.memory", kHosts, {20e9, 19.6e9, 11.2e9, 16e9});
  EXPECT_THAT(not_fine(findings), ElementsAre("node3"));
  const Finding slow = found(findings, "rate.memory", "node3");
  EXPECT_EQ(slow.verdict, Verdict::kWarning);
  EXPECT_EQ(slow.measured, "slow: 11.2 GB/s");
  EXPECT_THAT(slow.expected, HasSubstr("80 % of the median of 4 nodes, 17.8 GB/s"));
  EXPECT_THAT(slow.remedy, HasSubstr("--exclude=NODE"));
  EXPECT_EQ(slow.value, 11.2e9);
}

TEST(CompareRates, OfASingleNodeNamesNobody) {
  EXPECT_THAT(not_fine(compare_rates("rate.disk_read", {"box"}, {1.0})), IsEmpty());
}

std::vector<Link> links(const std::vector<double>& rates) {
  std::vector<Link> all;
  const int nodes = static_cast<int>(rates.size());
  for (int left = 0; left < nodes; ++left) {
    all.push_back({left, (left + 1) % nodes, 20e-6, rates[static_cast<std::size_t>(left)], 1});
  }
  return all;
}

TEST(CompareLinks, NameANodeBothOfWhoseLinksAreSlow) {
  // Links 1-2, 2-3, 3-4, 4-1: those of node 3 are slow, and its neighbours are not to blame.
  const Findings findings = compare_links(kHosts, links({1e9, 1e8, 1e8, 1e9}));
  EXPECT_THAT(not_fine(findings), ElementsAre("node3"));
  EXPECT_THAT(found(findings, "rate.network", "node3").measured, HasSubstr("100.0 MB/s"));
}

TEST(CompareLinks, NameALinkBetweenNodesThatAreFastElsewhere) {
  const Findings findings = compare_links(kHosts, links({1e9, 1e8, 1e9, 1e9}));
  EXPECT_THAT(not_fine(findings), ElementsAre("node2 - node3"));
}

TEST(CompareLinks, OfTwoNodesBlameNobody) {
  EXPECT_THAT(not_fine(compare_links({"a", "b"}, {{0, 1, 1e-5, 1e8, 1}})), IsEmpty());
  EXPECT_THAT(compare_links({"a"}, {}), IsEmpty());
}

TEST(CompareLinks, NoteANodeThatIsFarAway) {
  std::vector<Link> all = links({1e9, 1e9, 1e9, 1e9});
  all[1].latency_s = all[2].latency_s = 1e-3;
  const Findings findings = compare_links(kHosts, all);
  EXPECT_THAT(not_fine(findings), ElementsAre("node3"));
  EXPECT_EQ(found(findings, "rate.latency", "node3").verdict, Verdict::kNote);
}

TEST(CompareFacts, NameTheNodeThatDiffersFromMost) {
  const json usual = {{"revision", "abc"}, {"memory_bytes", 1'000'000'000}, {"cores", 64}};
  json other = usual, nearly = usual;
  other["revision"] = "def";
  other["cores"] = nullptr;
  nearly["memory_bytes"] = 1'010'000'000;
  const Findings findings = compare_facts(kHosts, {other, usual, nearly, usual});
  EXPECT_THAT(not_fine(findings), ElementsAre("node1", "node1"));
  EXPECT_THAT(findings[0].measured, "cores: null");
  EXPECT_THAT(findings[1].measured, "revision: def");
  EXPECT_THAT(findings[1].expected, HasSubstr("abc"));
  EXPECT_THAT(findings[1].remedy, HasSubstr("install"));
}

TEST(CompareFacts, NameHostsOfTheSameName) {
  const json facts = {{"cores", 1}};
  const Finding same = found(compare_facts({"a", "b", "a"}, {facts, facts, facts}), "host.name");
  EXPECT_EQ(same.verdict, Verdict::kWarning);
  EXPECT_EQ(same.subject, "a");
}

TEST(CompareFacts, OfNodesThatAreAlikeAreFine) {
  const json facts = {{"cores", 1}};
  EXPECT_THAT(not_fine(compare_facts({"a", "b"}, {facts, facts})), IsEmpty());
}

TEST(JudgeOffsets, NotesAClockThatIsASecondAway) {
  const Findings findings = judge_offsets({"a", "b", "c"}, {0.0, 0.4, -2.5});
  EXPECT_THAT(not_fine(findings), ElementsAre("c"));
  EXPECT_THAT(found(findings, "clock.offset", "c").measured, HasSubstr("-2.500000 s against a"));
}

TEST(JudgeCollectives, MakesAWrongSumAnError) {
  NetworkTimes times;
  times.rings = {{4 << 20, 0.004}};
  times.sums = {{4, 1e-5, true}, {4 << 20, 0.01, false}};
  const Findings findings = judge_collectives(times, 8);
  EXPECT_THAT(found(findings, "mpi.ring").measured, HasSubstr("1.0 GB/s"));
  EXPECT_THAT(not_fine(findings), ElementsAre("4.0 MiB"));
  EXPECT_EQ(exit_code(findings), base::ExitCode::kSystem);
}

}  // namespace
}  // namespace doctor
