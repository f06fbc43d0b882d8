// Tests of how the nodes' copies of a set are compared.
#include "staging/staging_facts.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace staging {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kMegabyte = 1'000'000;

TEST(NodeSpread, ComparesTheNodesThatCopied) {
  const std::vector<NodeCopy> nodes = {{"node1", 600 * kMegabyte, 2.0},
                                       {"node2", 600 * kMegabyte, 3.0},
                                       {"node3", 600 * kMegabyte, 6.0},
                                       {"node4", 200 * kMegabyte, 4.0},
                                       {"node5", 0, 0.5}};
  const NodeSpread spread = spread_of(nodes);
  EXPECT_EQ(spread.seconds_min, 0.5);
  EXPECT_EQ(spread.seconds_median, 3.0);
  EXPECT_EQ(spread.seconds_max, 6.0);
  EXPECT_EQ(spread.rate_min, 50e6);
  EXPECT_EQ(spread.rate_median, 150e6);
  EXPECT_EQ(spread.rate_mean, 162.5e6);
  EXPECT_EQ(spread.rate_max, 300e6);
  EXPECT_EQ(spread.imbalance, 1.5);  // 600 of 400 MB
  ASSERT_EQ(spread.slowest.size(), 3U);
  EXPECT_EQ(spread.slowest[0].host, "node4");
  EXPECT_EQ(spread.slowest[1].host, "node3");
  EXPECT_EQ(spread.slowest[2].host, "node2");
}

TEST(NodeSpread, HasNoRatesWhereEveryNodeHadAll) {
  const NodeSpread spread = spread_of(std::vector<NodeCopy>{{"node1", 0, 0.5}, {"node2", 0, 1.5}});
  EXPECT_EQ(spread.seconds_median, 1.0);
  EXPECT_EQ(spread.rate_max, 0.0);
  EXPECT_EQ(spread.imbalance, 0.0);
  EXPECT_TRUE(spread.slowest.empty());
  EXPECT_TRUE(remarks_on_slow_nodes(spread).empty());
  EXPECT_TRUE(remarks_on_slow_nodes(spread_of({})).empty());
}

TEST(SlowNodes, AreNamedBelowHalfOfTheMedian) {
  std::vector<NodeCopy> nodes(6, {"node1", 3100 * kMegabyte, 10.0});
  nodes.push_back({"node7", 410 * kMegabyte, 10.0});
  nodes.push_back({"node8", 1550 * kMegabyte, 10.0});  // half of it
  EXPECT_THAT(remarks_on_slow_nodes(spread_of(nodes)),
              ElementsAre("node7 staged 41 MB/s, the median is 310 MB/s: check its disk "
                          "(iostat -x 1)"));
}

TEST(SlowNodes, AreCountedBeyondTheSlowest) {
  std::vector<NodeCopy> nodes(7, {"fast", 12'500 * kMegabyte, 10.0});
  for (int i = 0; i < 5; ++i) {
    nodes.push_back({"slow" + std::to_string(i), (10 + i) * kMegabyte, 10.0});
  }
  const auto remarks = remarks_on_slow_nodes(spread_of(nodes));
  ASSERT_EQ(remarks.size(), 4U);
  EXPECT_EQ(remarks[0],
            "slow0 staged 1 MB/s, the median is 1.25 GB/s: check its disk (iostat -x 1)");
  EXPECT_EQ(remarks[3], "2 nodes more staged less than half of the median, which is 1.25 GB/s");
}

TEST(SlowNodes, AreNotJudgedByCopiesOfLessThanASecond) {
  std::vector<NodeCopy> nodes(3, {"node1", 90 * kMegabyte, 0.1});
  nodes.push_back({"node4", 90 * kMegabyte, 0.999});
  EXPECT_TRUE(remarks_on_slow_nodes(spread_of(nodes)).empty());
  nodes.back().seconds = 1.0;
  EXPECT_EQ(remarks_on_slow_nodes(spread_of(nodes)).size(), 1U);
}

TEST(StagingFacts, AreOnlyTheModeWhereSamplesAreStreamed) {
  EXPECT_EQ(to_json(StagingFacts()), (nlohmann::json{{"mode", "stream"}}));
}

}  // namespace
}  // namespace staging
