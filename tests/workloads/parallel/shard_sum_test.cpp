// Tests of sums of which each rank gets a shard, and of gathering shards.
#include "workloads/parallel/shard_sum.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <thread>
#include <vector>

#include "runner/base/clock.h"
#include "workloads/optimizer/optimizer.h"

namespace parallel {
namespace {

class Shards : public testing::Test {
 protected:
  std::int64_t sent() const { return telemetry_.count(telemetry::Counter::kBytesSent); }
  /// This rank's shard of a piece.
  std::pair<std::size_t, std::size_t> own(std::size_t floats) const {
    const auto [first, last] =
        shard_of(static_cast<std::int64_t>(floats), world_.size(), world_.rank());
    return {static_cast<std::size_t>(first), static_cast<std::size_t>(last)};
  }

  const runner::Communicator world_ = runner::Communicator::world();
  const base::SystemClock clock_;
  telemetry::Telemetry telemetry_{clock_};
  const runner::Accounting accounting_ = world_.account_to(telemetry_);
};

TEST(ShardOf, AreWholeCellsWhichFollowOneAnother) {
  for (const std::int64_t floats : {1, 4096, 4097, 20'000, 100'000}) {
    for (const int ranks : {1, 2, 3, 8}) {
      std::int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const auto [first, last] = shard_of(floats, ranks, rank);
        EXPECT_EQ(first, next);
        EXPECT_TRUE(last == floats || last % nn::kUpdateCell == 0);
        EXPECT_LE(last - first, floats / ranks + 2 * nn::kUpdateCell);
        if (first < last) {
          EXPECT_EQ(rank_of_shard(floats, ranks, first), rank);
          EXPECT_EQ(rank_of_shard(floats, ranks, last - 1), rank);
        }
        next = last;
      }
      EXPECT_EQ(next, floats);
    }
  }
}

TEST_F(Shards, AreSumsOverAllRanksAndTheRestIsLeftAlone) {
  const std::vector<std::size_t> sizes = {1, 5000, 70'000, 8192};
  std::vector<std::vector<float>> data;
  std::vector<std::span<float>> pieces;
  for (const std::size_t size : sizes) data.emplace_back(size);
  for (auto& one : data) pieces.emplace_back(one);
  ShardSums sums(world_, pieces, telemetry_, "test");
  for (int repetition = 1; repetition <= 3; ++repetition) {
    const auto term = [&](int rank, std::size_t i) {
      return static_cast<float>((i * 7 + static_cast<std::size_t>(rank * repetition)) % 1000);
    };
    for (std::size_t piece = 0; piece < data.size(); ++piece) {
      for (std::size_t i = 0; i < sizes[piece]; ++i) data[piece][i] = term(world_.rank(), i);
      sums.begin(piece);
    }
    while (!sums.test()) std::this_thread::yield();
    for (std::size_t piece = 0; piece < data.size(); ++piece) {
      const auto [first, last] = own(sizes[piece]);
      for (std::size_t i = 0; i < sizes[piece]; ++i) {
        float expected = term(world_.rank(), i);
        if (i >= first && i < last) {
          expected = 0.0F;
          for (int rank = 0; rank < world_.size(); ++rank) expected += term(rank, i);
        }
        ASSERT_EQ(data[piece][i], expected) << piece << " " << i;
      }
    }
  }
}

TEST_F(Shards, AreGatheredFromTheRanksThatHaveThem) {
  const std::vector<std::size_t> sizes = {70'000, 3, 4096, 9000, 8192, 20'000, 1, 4097, 30'000};
  std::vector<std::vector<float>> data;
  std::vector<std::span<float>> pieces;
  for (const std::size_t size : sizes) data.emplace_back(size, -1.0F);
  for (auto& one : data) pieces.emplace_back(one);
  for (std::size_t piece = 0; piece < data.size(); ++piece) {
    const auto [first, last] = own(sizes[piece]);
    for (std::size_t i = first; i < last; ++i) data[piece][i] = static_cast<float>(i);
  }
  ShardGather gather(world_, pieces, telemetry_, "test");
  EXPECT_EQ(sent(), 0) << "it goes on only when it is looked at";
  for (std::size_t piece = data.size(); piece-- > 0;) {
    if (piece % 2 == 0) gather.test();
    if (piece % 3 > 0) continue;
    gather.wait(piece);
    for (std::size_t i = 0; i < sizes[piece]; ++i) {
      ASSERT_EQ(data[piece][i], static_cast<float>(i)) << piece;
    }
  }
  gather.wait_all();
  for (std::size_t piece = 0; piece < data.size(); ++piece) {
    for (std::size_t i = 0; i < sizes[piece]; ++i) {
      ASSERT_EQ(data[piece][i], static_cast<float>(i)) << piece;
    }
  }
}

/// Together those of a whole sum: 2 (ranks - 1) / ranks of the piece.
TEST_F(Shards, SendTheBytesOfAWholeSum) {
  const std::size_t floats = static_cast<std::size_t>(world_.size()) * 3 * nn::kUpdateCell;
  std::vector<float> data(floats, 1.0F);
  ShardSums sums(world_, {data}, telemetry_, "test");
  ShardGather gather(world_, {data}, telemetry_, "test");
  sums.begin(0);
  while (!sums.test()) std::this_thread::yield();
  gather.wait(0);
  EXPECT_EQ(sent(), 2 * (world_.size() - 1) * 3 * nn::kUpdateCell * 4);
}

}  // namespace
}  // namespace parallel
