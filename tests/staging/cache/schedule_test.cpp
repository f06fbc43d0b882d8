// Tests of what caches know of the future, against a search of the whole order.
#include "staging/cache/schedule.h"

#include <gtest/gtest.h>

namespace cache {
namespace {

/// Three ranks with 3, 2 and 2 slots of each of two passes.
struct Trial {
  static constexpr std::int64_t kSamples = 61, kBatch = 14, kPass = 7, kEpochs = 6;
  explicit Trial(std::int64_t shards)
      : order(kSamples, kBatch, shards, 3), schedule(order, {0, 3, 5}, kPass, kEpochs) {}
  static int rank_of(std::int64_t slot) {
    const std::int64_t place = slot % kPass;
    return place < 3 ? 0 : place < 5 ? 1 : 2;
  }
  /// The first draw after `epoch` of all, or of one rank.
  std::int64_t searched(std::int64_t index, std::int64_t epoch, int rank = -1) const {
    const std::int64_t steps = order.steps_per_epoch();
    for (std::int64_t step = (epoch + 1) * steps; step < kEpochs * steps; ++step) {
      for (std::int64_t slot = 0; slot < kBatch; ++slot) {
        if (order.index(step / steps, step % steps, slot) != index) continue;
        if (rank < 0 || rank == rank_of(slot)) return step;
      }
    }
    return kNever;
  }
  const staging::SampleOrder order;
  const Schedule schedule;
};

TEST(Schedule, KnowsTheNextDraw) {
  for (const std::int64_t shards : {1, 3}) {
    const Trial trial(shards);
    for (std::int64_t index = 0; index < Trial::kSamples; ++index) {
      for (const std::int64_t epoch : {-1, 0, 3, 4, 5}) {
        ASSERT_EQ(trial.schedule.next_draw(index, epoch), trial.searched(index, epoch));
        for (const int rank : {0, 1, 2}) {
          ASSERT_EQ(trial.schedule.next_draw_by(rank, index, epoch),
                    trial.searched(index, epoch, rank));
        }
      }
    }
  }
}

TEST(Schedule, KnowsWhoDraws) {
  const Trial trial(1);
  std::int64_t dropped = 0;
  for (std::int64_t index = 0; index < Trial::kSamples; ++index) {
    const auto draw = trial.order.draw_of(2, index);
    dropped += draw ? 0 : 1;
    ASSERT_EQ(trial.schedule.reader(index, 2), draw ? Trial::rank_of(draw->slot) : index % 3);
  }
  EXPECT_EQ(dropped, Trial::kSamples % Trial::kBatch);
}

TEST(Schedule, LooksNotBeyondItsHorizonForOneRank) {
  // The second of two shards is never drawn by the rank of the first.
  const Schedule schedule(staging::SampleOrder(8, 2, 2, 1), {0, 1}, 2, 1'000'000'000);
  EXPECT_EQ(schedule.next_draw_by(0, 7, 0), kNever);
  EXPECT_LT(schedule.next_draw_by(1, 7, 0), 8);
}

}  // namespace
}  // namespace cache
