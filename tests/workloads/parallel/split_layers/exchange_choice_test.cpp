// Which exchange follows from the distributions of two layers, and which bytes it takes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "workloads/parallel/split_layers/activation_exchange.h"

namespace {

using parallel::ActivationEdge;
using parallel::Distribution;
using parallel::Share;
using parallel::Sources;

constexpr int kFourRanks = 4;
constexpr Distribution kData = {};
constexpr Distribution kSplit2 = {2, true}, kSplit4 = {4, true}, kAlike2 = {2, false};

struct Choice {
  Distribution from, to;
  bool has_partial_sums;
  const char* forward;
  const char* backward;
};

/// The five cases of the paper, and those that it leaves out.
TEST(ActivationCollective, FollowsFromDistributions) {
  const std::vector<Choice> table = {{kSplit2, kSplit2, true, "reduce-scatter", "all-gather"},  // 1
                                     {kSplit2, kAlike2, true, "allreduce", "none"},             // 2
                                     {kSplit4, kData, true, "reduce-scatter", "all-gather"},    // 3
                                     {kSplit2, kData, false, "alltoall", "alltoall"},           // 4
                                     {kData, kSplit2, false, "alltoall", "alltoall"},           // 5
                                     {kData, kData, false, "none", "none"},
                                     {kSplit2, kSplit2, false, "none", "none"},
                                     {kSplit2, kSplit4, true, "reduce and alltoall", "alltoall"}};
  for (const Choice& one : table) {
    const auto chosen = parallel::collective_of(one.from, one.to, one.has_partial_sums);
    const std::string which =
        to_string(one.from, kFourRanks) + " to " + to_string(one.to, kFourRanks);
    EXPECT_STREQ(parallel::forward_name(chosen), one.forward) << which;
    EXPECT_STREQ(parallel::backward_name(chosen), one.backward) << which;
  }
}

TEST(ActivationBytes, AreThoseOfTheFormulas) {
  constexpr std::int64_t kSamples = 24, kFeatures = 40, kFloat = 4;
  const auto bytes = [](const Distribution& from, const Distribution& to, bool has_partial_sums) {
    return parallel::activation_bytes({from, to, has_partial_sums, kSamples, {kFeatures, 1}},
                                      kFourRanks);
  };
  constexpr std::int64_t kAll = kSamples * kFeatures * kFloat;
  // Each sample's sums in a group of G: G - 1 ranks send all but their part of its features, and
  // get those parts' gradients back.
  EXPECT_EQ(bytes(kSplit2, kSplit2, true), 2 * 1 * kAll);
  EXPECT_EQ(bytes(kSplit4, kData, true), 2 * 3 * kAll);
  EXPECT_EQ(bytes(kSplit2, kAlike2, true), 2 * 1 * kAll);
  EXPECT_EQ(bytes({4, true}, {4, false}, true), 2 * 3 * kAll);
  // Of an alltoall within groups of G each rank keeps one part of G.
  EXPECT_EQ(bytes(kData, kSplit2, false), 2 * kAll / 2);
  EXPECT_EQ(bytes(kData, kSplit4, false), 2 * kAll * 3 / 4);
  EXPECT_EQ(bytes(kData, kData, false), 0);
}

TEST(Shares, AreAllOfAValueOnce) {
  for (const Distribution& one : {kData, kSplit2, kSplit4}) {
    std::int64_t elements = 0;
    for (int rank = 0; rank < kFourRanks; ++rank) {
      elements += parallel::share_of(one, rank, kFourRanks, 7, {5, 3}).count();
    }
    EXPECT_EQ(elements, 7 * 5 * 3) << to_string(one, kFourRanks);
  }
  // Whole channels: of 5 the first rank of a group has 3.
  const Share share = parallel::share_of(kSplit2, 0, kFourRanks, 7, {5, 3});
  EXPECT_EQ(share.samples, (parallel::Range{0, 4}));
  EXPECT_EQ(share.features, (parallel::Range{0, 9}));
}

TEST(Portions, ComeFromTheReceiverItselfIfItCan) {
  std::vector<Share> shares;
  for (int rank = 0; rank < kFourRanks; ++rank) {
    shares.push_back(parallel::share_of(kAlike2, rank, kFourRanks, 8, {2, 1}));
  }
  const parallel::Holders holders(shares);
  const auto portions = holders.portions_for(3, shares[3], Sources::kOne);
  ASSERT_EQ(portions.size(), 1u);
  EXPECT_EQ(portions.front().rank, 3);
}

}  // namespace
