// Tests of caches on several ranks: samples are those of the source, and each is read from it as
// seldom as the caps allow.
#include "staging/cache/cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "runner/agreed_error.h"
#include "runner/base/clock.h"
#include "runner/base/split_evenly.h"
#include "runner/base/temporary_directory.h"
#include "runner/pretend_nodes.h"
#include "staging/made_dataset.h"

namespace cache {
namespace {

using staging::LevelCounts;
using staging::MadeDataset;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kSamples = 50, kBatch = 12, kEpochs = 5, kBytes = 100;

class CachesOnRanks : public testing::Test {
 protected:
  CachesOnRanks() {
    if (world_.rank() == 0) folder_.emplace();
    root_ = world_.broadcast(folder_ ? folder_->path().string() : "", 0);
    config_.memory_bytes = 2 * kSamples * kBytes;
  }
  ~CachesOnRanks() override { world_.barrier(); }

  Schedule schedule() const {
    std::vector<std::int64_t> first_slots;
    for (int rank = 0; rank < world_.size(); ++rank) {
      first_slots.push_back(base::split_evenly(kBatch, world_.size(), rank).first);
    }
    return {order_, first_slots, kBatch, kEpochs};
  }
  std::string directory(const runner::Topology& topology) const {
    return root_ + "/node" + std::to_string(topology.node_index);
  }
  std::shared_ptr<Cache> open(const runner::Topology& topology) const {
    return open_cache(config_, directory(topology), source_, schedule(),
                      {world_, topology, clock_});
  }
  /// Reads this rank's draws of the epochs; in each step after that of all others.
  void read_epochs(const std::shared_ptr<Cache>& cache, std::int64_t first) const {
    cache->begin(first);
    const auto [begin, end] = base::split_evenly(kBatch, world_.size(), world_.rank());
    std::vector<std::byte> bytes, expected;
    for (std::int64_t epoch = first; epoch < kEpochs; ++epoch) {
      const CachedDataset data(cache, epoch);
      for (std::int64_t step = 0; step < order_.steps_per_epoch(); ++step) {
        for (std::int64_t slot = begin; slot < end; ++slot) {
          const std::int64_t index = order_.index(epoch, step, slot);
          data.read(index, bytes);
          plain_.read(index, expected);
          ASSERT_EQ(bytes, expected);
        }
        world_.barrier();
      }
    }
  }
  /// Of all ranks.
  LevelCounts read_all(const runner::Topology& topology, std::int64_t first = 0) const {
    auto cache = open(topology);
    read_epochs(cache, first);
    EXPECT_THAT(cache->take_remarks(), IsEmpty());
    LevelCounts counts = cache->take_levels();
    EXPECT_EQ(cache->take_levels(), LevelCounts());
    for (std::int64_t* count : {&counts.source_samples, &counts.source_bytes,
                                &counts.memory_samples, &counts.memory_bytes, &counts.disk_samples,
                                &counts.disk_bytes, &counts.peer_samples, &counts.peer_bytes}) {
      world_.allreduce_sum(std::span(count, 1));
    }
    world_.barrier();
    cache.reset();
    world_.barrier();
    EXPECT_TRUE(!std::filesystem::exists(directory(topology)) ||
                std::filesystem::is_empty(directory(topology)));
    return counts;
  }
  /// Samples that are drawn in one of the epochs from `first` on.
  std::int64_t drawn(std::int64_t first = 0) const {
    std::int64_t count = 0;
    for (std::int64_t index = 0; index < kSamples; ++index) {
      count += schedule().next_draw(index, first - 1) != kNever ? 1 : 0;
    }
    return count;
  }
  /// Once each, but for what is on its way to its home when it is needed: samples that the first
  /// epoch dropped.
  void expect_read_once(const LevelCounts& counts, std::int64_t first = 0) const {
    EXPECT_GE(counts.source_samples, drawn(first));
    EXPECT_LE(counts.source_samples, drawn(first) + kSamples % kBatch);
    EXPECT_EQ(counts.source_bytes, counts.source_samples * kBytes);
  }
  std::int64_t draws(std::int64_t first = 0) const {
    return (kEpochs - first) * order_.steps_per_epoch() * kBatch;
  }

  const runner::Communicator world_ = runner::Communicator::world();
  const base::SystemClock clock_;
  const staging::SampleOrder order_{kSamples, kBatch, 1, 3};
  const std::shared_ptr<MadeDataset> source_ =
      std::make_shared<MadeDataset>(std::vector<std::int64_t>(kSamples, kBytes));
  const MadeDataset plain_{std::vector<std::int64_t>(kSamples, kBytes)};
  CacheConfig config_;
  std::optional<base::TemporaryDirectory> folder_;
  std::string root_;
};

TEST_F(CachesOnRanks, ReadEachSampleOnceWhereTogetherTheyHaveRoomForAll) {
  for (const int nodes : {1, world_.size()}) {
    const runner::Topology topology = runner::pretend_nodes(world_, nodes);
    const LevelCounts counts = read_all(topology);
    expect_read_once(counts);
    EXPECT_EQ(counts.source_samples + counts.memory_samples + counts.peer_samples, draws());
    EXPECT_EQ(counts.memory_bytes, counts.memory_samples * kBytes);
    EXPECT_EQ(counts.peer_bytes, counts.peer_samples * kBytes);
    EXPECT_EQ(counts.disk_samples, 0);
    EXPECT_EQ(counts.peer_samples > 0, world_.size() > 1);
  }
}

TEST_F(CachesOnRanks, KeepOnDiskWhatMemoryHasNoRoomFor) {
  config_.disk_bytes = config_.memory_bytes;
  config_.memory_bytes = 1000;
  const LevelCounts counts = read_all(runner::pretend_nodes(world_, world_.size()));
  expect_read_once(counts);
  EXPECT_GT(counts.disk_samples, 0);
  EXPECT_EQ(counts.disk_bytes, counts.disk_samples * kBytes);
}

TEST_F(CachesOnRanks, LearnFromEachOtherWhenTheyBeginLater) {
  const LevelCounts counts = read_all(runner::pretend_nodes(world_, world_.size()), 2);
  expect_read_once(counts, 2);
  EXPECT_EQ(counts.source_samples + counts.memory_samples + counts.peer_samples, draws(2));
}

TEST_F(CachesOnRanks, KeepForThemselvesWithoutPeers) {
  config_.peers = Peering::kIgnore;
  const LevelCounts alone = read_all(runner::pretend_nodes(world_, world_.size()));
  EXPECT_EQ(alone.peer_samples, 0);
  EXPECT_EQ(alone.source_samples + alone.memory_samples, draws());
  EXPECT_GE(alone.source_samples, drawn());
  config_.policy = Policy::kLru;
  const LevelCounts lru = read_all(runner::pretend_nodes(world_, world_.size()));
  EXPECT_EQ(lru.source_samples, alone.source_samples) << "all that a rank has drawn fits both";
}

TEST_F(CachesOnRanks, ReadLessFromTheSourceThanTheLastUsedWould) {
  const runner::Topology topology = runner::pretend_nodes(world_, world_.size());
  config_.memory_bytes = kSamples * kBytes / 2 / world_.size();
  const LevelCounts next_use = read_all(topology);
  config_.policy = Policy::kLru;
  config_.peers = Peering::kIgnore;
  const LevelCounts lru = read_all(topology);
  EXPECT_LT(next_use.source_samples, lru.source_samples);
}

TEST_F(CachesOnRanks, RefuseMoreDiskThanThereIs) {
  config_.disk_bytes = std::int64_t{1} << 60;
  const runner::Topology topology = runner::pretend_nodes(world_, 1);
  try {
    (void)open(topology);
    ADD_FAILURE() << "opened";
  } catch (const runner::AgreedError& e) {
    EXPECT_EQ(e.code(), base::ExitCode::kSystem);
    EXPECT_THAT(e.what(), HasSubstr("cache.disk_bytes is 1152921504606846976, but"));
  }
}

TEST_F(CachesOnRanks, AnswerNothingButReadingInPlaceOfTheSource) {
  const auto cache = open(runner::pretend_nodes(world_, 1));
  const CachedDataset data(cache, 0);
  EXPECT_EQ(data.size(), kSamples);
  EXPECT_EQ(data.class_names(), source_->class_names());
  EXPECT_EQ(data.label(3), source_->label(3));
  EXPECT_EQ(data.bytes(3), kBytes);
  EXPECT_EQ(data.name(3), source_->name(3));
  EXPECT_EQ(data.path(3), "") << "parts of a file would pass by the cache";
  EXPECT_EQ(data.source(), source_->source());
  EXPECT_EQ(data.stamp(3).mtime_ns, source_->stamp(3).mtime_ns);
  world_.barrier();
}

}  // namespace
}  // namespace cache
