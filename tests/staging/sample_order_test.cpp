// Tests of the order in which samples are drawn.
#include "staging/sample_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "runner/base/error.h"

namespace staging {
namespace {

std::vector<std::int64_t> epoch_of(const SampleOrder& order, std::int64_t epoch,
                                   std::int64_t global_batch) {
  std::vector<std::int64_t> indices;
  for (std::int64_t step = 0; step < order.steps_per_epoch(); ++step) {
    for (std::int64_t slot = 0; slot < global_batch; ++slot) {
      indices.push_back(order.index(epoch, step, slot));
    }
  }
  return indices;
}

TEST(SampleOrder, DrawsNoSampleTwiceInAnEpoch) {
  for (const std::int64_t shards : {1, 2, 3, 7}) {
    const SampleOrder order(1003, 48, shards, 5);
    const auto indices = epoch_of(order, 2, 48);
    const std::set<std::int64_t> unique(indices.begin(), indices.end());
    EXPECT_EQ(unique.size(), indices.size());
    EXPECT_GE(*unique.begin(), 0);
    EXPECT_LT(*unique.rbegin(), 1003);
  }
}

/// Two nodes of two ranks, with 12 slots each: a sample stays on its node, where each epoch gives
/// it to one of the ranks anew.
TEST(SampleOrder, ShufflesAShardAmongTheRanksOfItsNode) {
  constexpr std::int64_t kEpochs = 30, kRankSlots = 12;
  const SampleOrder order(960, 4 * kRankSlots, 2, 5);
  for (std::int64_t index = 0; index < 960; ++index) {
    std::array<int, 4> drawn{};
    for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
      ++drawn.at(static_cast<std::size_t>(order.draw_of(epoch, index)->slot / kRankSlots));
    }
    const std::size_t first = index < 480 ? 0 : 2;
    EXPECT_EQ(drawn[first] + drawn[first + 1], kEpochs) << index;
    EXPECT_GT(drawn[first], 0) << index;
    EXPECT_GT(drawn[first + 1], 0) << index;
  }
}

TEST(SampleOrder, DropsTheRemainderOfAnEpoch) {
  EXPECT_EQ(SampleOrder(1003, 48, 1, 5).steps_per_epoch(), 20);
  EXPECT_EQ(SampleOrder(96, 48, 1, 5).steps_per_epoch(), 2);
}

TEST(SampleOrder, DrawsEverySampleWhenNothingRemains) {
  for (const std::int64_t shards : {1, 4}) {
    auto indices = epoch_of(SampleOrder(960, 48, shards, 9), 0, 48);
    std::sort(indices.begin(), indices.end());
    for (std::size_t i = 0; i < indices.size(); ++i) {
      ASSERT_EQ(indices[i], static_cast<std::int64_t>(i));
    }
    EXPECT_EQ(indices.size(), 960u);
  }
}

TEST(SampleOrder, ChangesWithEpochAndSeedOnly) {
  const SampleOrder order(1000, 50, 2, 5);
  EXPECT_EQ(epoch_of(order, 1, 50), epoch_of(SampleOrder(1000, 50, 2, 5), 1, 50));
  EXPECT_NE(epoch_of(order, 1, 50), epoch_of(order, 2, 50));
  EXPECT_NE(epoch_of(order, 1, 50), epoch_of(SampleOrder(1000, 50, 2, 6), 1, 50));
}

TEST(SampleOrder, KnowsWhereEachSampleIsDrawn) {
  for (const auto& [samples, batch, shards] : std::vector<std::array<std::int64_t, 3>>{
           {1003, 48, 1}, {1003, 48, 2}, {1003, 48, 7}, {1003, 11, 3}, {96, 48, 1}, {7, 7, 7}}) {
    const SampleOrder order(samples, batch, shards, 5);
    for (const std::int64_t epoch : {0, 1, 6}) {
      std::int64_t drawn = 0;
      for (std::int64_t index = 0; index < samples; ++index) {
        const auto draw = order.draw_of(epoch, index);
        if (!draw) continue;
        ++drawn;
        ASSERT_LT(draw->step, order.steps_per_epoch());
        ASSERT_EQ(order.index(epoch, draw->step, draw->slot), index);
      }
      EXPECT_EQ(drawn, order.steps_per_epoch() * batch) << samples << " in " << shards;
    }
  }
  EXPECT_THROW(SampleOrder(96, 48, 1, 5).draw_of(0, 96), base::Error);
  EXPECT_THROW(SampleOrder(96, 48, 1, 5).draw_of(0, -1), base::Error);
}

TEST(SampleOrder, ShufflesShardsOfEqualSizeDifferently) {
  const SampleOrder order(1000, 2, 2, 5);
  int equal = 0;
  for (std::int64_t step = 0; step < 500; ++step) {
    if (order.index(0, step, 0) + 500 == order.index(0, step, 1)) ++equal;
  }
  EXPECT_LT(equal, 10);
}

TEST(SampleOrder, KeepsSlotsWithinTheirNeededRanges) {
  const std::int64_t batch = 50, shards = 4;
  const SampleOrder order(1003, batch, shards, 5);
  for (const auto& [first, last] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 13}, {13, 25}, {20, 30}, {38, 50}}) {
    const auto ranges = order.needed(first, last);
    std::int64_t lowest = 1003, highest = -1;
    for (std::int64_t step = 0; step < order.steps_per_epoch(); ++step) {
      for (std::int64_t slot = first; slot < last; ++slot) {
        const std::int64_t index = order.index(3, step, slot);
        lowest = std::min(lowest, index);
        highest = std::max(highest, index);
        EXPECT_TRUE(std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
          return index >= range.first && index < range.second;
        }));
      }
    }
    // The ranges are not larger than necessary.
    EXPECT_LT(lowest - ranges.front().first, 30);
    EXPECT_LT(ranges.back().second - highest, 30);
  }
  EXPECT_TRUE(order.needed(5, 5).empty());
}

TEST(SampleOrder, NeedsAllOfAnUnshardedDataset) {
  const auto ranges = SampleOrder(1003, 50, 1, 5).needed(25, 50);
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0], (std::pair<std::int64_t, std::int64_t>{0, 1003}));
}

TEST(SampleOrder, RefusesWhatCannotFillABatch) {
  EXPECT_THROW(SampleOrder(47, 48, 1, 5), base::ConfigError);
  EXPECT_THROW(SampleOrder(0, 1, 1, 5), base::ConfigError);
  EXPECT_THROW(SampleOrder(100, 4, 5, 5), base::ConfigError);
  EXPECT_NO_THROW(SampleOrder(48, 48, 1, 5));
}

}  // namespace
}  // namespace staging
