// Tests of which nodes read together, and of shares of packs.
#include "staging/node_plan.h"

#include <gmock/gmock.h>

#include <numeric>

#include "staging/made_dataset.h"

namespace staging {
namespace {

using testing::ElementsAre;

TEST(ReadingNodes, AreThoseThatMissTheSame) {
  const std::vector<std::uint64_t> missing = {7, 9, 7, 0, 9, 7};
  const int group[] = {0, 1, 0, 2, 1, 0}, place[] = {0, 0, 1, 0, 1, 2},
            nodes[] = {3, 2, 3, 1, 2, 3};
  for (int node = 0; node < 6; ++node) {
    const ReadingNodes found = reading_nodes(missing, node);
    EXPECT_EQ(found.group, group[node]) << node;
    EXPECT_EQ(found.place, place[node]) << node;
    EXPECT_EQ(found.nodes, nodes[node]) << node;
  }
}

/// Packs of these sizes, one sample each.
PackList packs_of(const std::vector<std::int64_t>& sizes) {
  std::vector<Pack> packs;
  for (const std::int64_t bytes : sizes) packs.push_back({std::ssize(packs), bytes, 0});
  return {packs, std::ssize(sizes)};
}

std::vector<std::int64_t> all_of(const PackList& list) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(list.count()));
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  return numbers;
}

TEST(Shares, AreWholePacksInOrderAndEqualInBytes) {
  constexpr std::uint32_t kLargest = 4000;
  const PackList list = packs_of(MadeDataset::random(3000, kLargest).sizes);
  for (const int readers : {1, 2, 3, 7, 64}) {
    std::vector<std::int64_t> joined;
    for (const auto& share : shares_of(list, all_of(list), readers)) {
      std::int64_t bytes = 0;
      for (const std::int64_t number : share) bytes += list[number].bytes;
      EXPECT_NEAR(static_cast<double>(bytes), static_cast<double>(list.bytes()) / readers,
                  static_cast<double>(kLargest));
      joined.insert(joined.end(), share.begin(), share.end());
    }
    EXPECT_EQ(joined, all_of(list));
  }
}

TEST(Shares, HoldPacksOfNoBytesAndMayBeEmpty) {
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{}, {0}, {100, 0}, {0, 3, 0}}) {
    const PackList list = packs_of(sizes);
    std::vector<std::int64_t> joined;
    const auto shares = shares_of(list, all_of(list), 5);
    ASSERT_EQ(shares.size(), 5U);
    for (const auto& share : shares) joined.insert(joined.end(), share.begin(), share.end());
    EXPECT_EQ(joined, all_of(list));
  }
}

TEST(Shares, AreOfThePacksThatAreWanted) {
  const PackList list = packs_of({10, 10, 10, 10, 10});
  EXPECT_THAT(shares_of(list, {1, 3, 4}, 2), ElementsAre(ElementsAre(1, 3), ElementsAre(4)));
}

}  // namespace
}  // namespace staging
