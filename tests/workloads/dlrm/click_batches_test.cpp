// Tests of the order of click blocks, of ranks' parts, and of prefetched batches.
#include "workloads/dlrm/click_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "runner/base/error.h"
#include "runner/base/split_evenly.h"
#include "runner/base/thrown_message.h"
#include "staging/dataset/clicks.h"

namespace dlrm {
namespace {

using testing::HasSubstr;

constexpr dataset::ClickFormat kFormat{2, 3};

std::vector<nn::PassSlice> split(std::int64_t batch, int ranks) {
  std::vector<nn::PassSlice> slices;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto [first, last] = base::split_evenly(batch, ranks, rank);
    slices.push_back({batch, first, last - first});
  }
  return slices;
}

TEST(ClickOrder, VisitsEveryBlockOncePerEpoch) {
  const ClickOrder order(1037, 10, Shuffle::kBatches, 7);
  ASSERT_EQ(order.steps_per_epoch(), 104);
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    std::set<std::int64_t> firsts;
    std::int64_t samples = 0;
    for (std::int64_t step = 0; step < 104; ++step) {
      const RecordRange block = order.block(epoch * 104 + step);
      EXPECT_EQ(block.first % 10, 0);
      EXPECT_EQ(block.count, block.first == 1030 ? 7 : 10);
      firsts.insert(block.first);
      samples += block.count;
    }
    EXPECT_EQ(firsts.size(), 104u);
    EXPECT_EQ(samples, 1037);
  }
}

TEST(ClickOrder, DiffersBetweenEpochsAndSeedsAndStaysOtherwise) {
  const ClickOrder order(1000, 10, Shuffle::kBatches, 7), same(1000, 10, Shuffle::kBatches, 7),
      other(1000, 10, Shuffle::kBatches, 8);
  int moved = 0, epochs_agree = 0, seeds_agree = 0;
  for (std::int64_t step = 0; step < 100; ++step) {
    EXPECT_EQ(order.block(step).first, same.block(step).first);
    moved += order.block(step).first != step * 10 ? 1 : 0;
    epochs_agree += order.block(step).first == order.block(100 + step).first ? 1 : 0;
    seeds_agree += order.block(step).first == other.block(step).first ? 1 : 0;
  }
  EXPECT_GT(moved, 90);
  EXPECT_LT(epochs_agree, 10);
  EXPECT_LT(seeds_agree, 10);
}

TEST(ClickOrder, KeepsTheOrderOfTheFileWithoutShuffling) {
  const ClickOrder order(25, 10, Shuffle::kNone, 7);
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    for (std::int64_t step = 0; step < 3; ++step) {
      EXPECT_EQ(order.block(epoch * 3 + step).first, step * 10);
      EXPECT_EQ(order.block(epoch * 3 + step).count, step == 2 ? 5 : 10);
    }
  }
  EXPECT_THROW(ClickOrder(0, 10, Shuffle::kNone, 7), base::ConfigError);
  EXPECT_THROW(ClickOrder(10, 0, Shuffle::kNone, 7), base::ConfigError);
  EXPECT_EQ(ClickOrder(3, 10, Shuffle::kBatches, 7).block(4).count, 3);
}

TEST(ClickOrder, GivesEveryRankItsPlacesAlsoOfAShortBlock) {
  const ClickOrder order(25, 10, Shuffle::kNone, 7);
  EXPECT_EQ(order.part(1, {10, 4, 3}).first, 14);
  EXPECT_EQ(order.part(1, {10, 4, 3}).count, 3);
  EXPECT_EQ(order.part(2, {10, 4, 3}).first, 24);
  EXPECT_EQ(order.part(2, {10, 4, 3}).count, 1);
  EXPECT_EQ(order.part(2, {10, 7, 3}).count, 0);
}

/// Record indices of the samples in a batch, from the ids that made_record() wrote. Expects labels,
/// counts and ids to agree with those records.
std::vector<std::int64_t> samples_in(const dataset::ClickBatch& batch) {
  std::vector<std::int64_t> found;
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    const std::int64_t id = batch.ids[i];
    if (batch.labels[i] == -1.0F) {
      EXPECT_EQ(id, 0);
      continue;
    }
    const std::int64_t index = (id - 3) / 100;
    const auto record = dataset::made_record(kFormat, index);
    EXPECT_EQ(batch.labels[i], static_cast<float>(record[0]));
    for (std::size_t table = 0; table < 3; ++table) {
      EXPECT_EQ(batch.ids[table * batch.labels.size() + i], record[3 + table]);
    }
    EXPECT_NEAR(std::exp(batch.dense[2 * i + 1]), record[2] + 1, 1e-4 * (record[2] + 1));
    found.push_back(index);
  }
  return found;
}

class Batches : public testing::Test {
 protected:
  static constexpr std::int64_t kSamples = 107;

  ClickBatches::Source source(int prefetch = 3) {
    return {std::make_shared<dataset::ClickFile>(path_, kFormat),
            {{1'000'000, 1'000'000, 1'000'000}, 0},
            prefetch,
            &read_};
  }
  void damage(std::int64_t record, std::int64_t column, std::int32_t value) {
    auto records = dataset::made_records(kFormat, 0, kSamples);
    records[static_cast<std::size_t>(record * kFormat.record_values() + column)] = value;
    folder_.write("a.bin", dataset::little_endian(records));
  }

  const base::TemporaryDirectory folder_;
  const std::string path_ = dataset::write_clicks(folder_, "a.bin", kFormat, kSamples);
  staging::LevelCounter read_;
};

TEST_F(Batches, OfAllRanksMakeUpTheGlobalBatch) {
  constexpr std::int64_t kBatch = 10, kSteps = 22;  // two epochs
  const ClickOrder order(kSamples, kBatch, Shuffle::kBatches, 3);
  for (const int ranks : {1, 2, 3, 8, 12}) {
    const auto slices = split(kBatch, ranks);
    std::vector<std::unique_ptr<ClickBatches>> readers;
    for (const nn::PassSlice& slice : slices) {
      readers.push_back(training_batches(source(), order, slice, 0, kSteps));
    }
    for (std::int64_t step = 0; step < kSteps; ++step) {
      std::vector<std::int64_t> found;
      for (std::size_t rank = 0; rank < readers.size(); ++rank) {
        const dataset::ClickBatch& batch = readers[rank]->next();
        EXPECT_EQ(batch.samples, slices[rank].count);
        EXPECT_EQ(static_cast<std::int64_t>(batch.labels.size()), slices[rank].count);
        const auto mine = samples_in(batch);
        found.insert(found.end(), mine.begin(), mine.end());
      }
      const RecordRange block = order.block(step);
      ASSERT_EQ(static_cast<std::int64_t>(found.size()), block.count) << ranks << " ranks";
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i], block.first + static_cast<std::int64_t>(i)) << ranks << " ranks";
      }
    }
    readers.clear();
    EXPECT_EQ(read_.take(),
              (staging::LevelCounts{.source_samples = 2 * kSamples,
                                    .source_bytes = 2 * kSamples * kFormat.record_bytes()}))
        << "each record is read by one rank";
  }
}

TEST_F(Batches, OfUnevenSlicesMakeUpTheGlobalBatch) {
  const ClickOrder order(kSamples, 10, Shuffle::kBatches, 3);
  const std::vector<nn::PassSlice> slices = {{10, 0, 1}, {10, 1, 6}, {10, 7, 0}, {10, 7, 3}};
  for (std::int64_t step = 0; step < 11; ++step) {
    std::vector<std::int64_t> found;
    for (const nn::PassSlice& slice : slices) {
      const auto reader = training_batches(source(), order, slice, step, step + 1);
      const auto mine = samples_in(reader->next());
      found.insert(found.end(), mine.begin(), mine.end());
    }
    ASSERT_EQ(static_cast<std::int64_t>(found.size()), order.block(step).count);
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
    EXPECT_EQ(found.front(), order.block(step).first);
  }
}

TEST_F(Batches, GoOnAtAnyStep) {
  const ClickOrder order(kSamples, 10, Shuffle::kBatches, 3);
  const nn::PassSlice slice{10, 2, 5};
  const auto whole = training_batches(source(), order, slice, 0, 30);
  std::vector<std::vector<std::int32_t>> ids;
  for (int step = 0; step < 30; ++step) ids.push_back(whole->next().ids);
  for (const std::int64_t start : {1, 10, 11, 29}) {
    const auto resumed = training_batches(source(), order, slice, start, 30);
    for (std::int64_t step = start; step < 30; ++step) {
      ASSERT_EQ(resumed->next().ids, ids[static_cast<std::size_t>(step)]) << start;
    }
    EXPECT_THROW(resumed->next(), base::Error);
  }
}

TEST_F(Batches, OfAnEvaluationCoverTheFileInAsManyStepsOnEveryRank) {
  for (const int ranks : {1, 2, 3, 8, 200}) {
    for (const std::int64_t batch : {1, 7, 18, 1000}) {
      const std::int64_t steps = evaluation_steps(kSamples, ranks, batch);
      std::vector<std::int64_t> found;
      for (int rank = 0; rank < ranks; ++rank) {
        const auto reader =
            evaluation_batches(source(), evaluation_part(kSamples, ranks, rank), batch, steps);
        for (std::int64_t step = 0; step < steps; ++step) {
          const dataset::ClickBatch& got = reader->next();
          ASSERT_EQ(got.samples, batch);
          const auto mine = samples_in(got);
          found.insert(found.end(), mine.begin(), mine.end());
        }
        EXPECT_THROW(reader->next(), base::Error);
      }
      ASSERT_EQ(found.size(), static_cast<std::size_t>(kSamples)) << ranks << " ranks";
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i], static_cast<std::int64_t>(i));
      }
    }
  }
}

TEST_F(Batches, StayValidUntilTheNextCall) {
  const ClickOrder order(kSamples, 10, Shuffle::kNone, 3);
  const auto reader = training_batches(source(1), order, {10, 0, 10}, 0, 10);
  for (std::int64_t step = 0; step < 10; ++step) {
    const dataset::ClickBatch& batch = reader->next();
    for (int look = 0; look < 50; ++look) {  // while the thread fills other batches
      ASSERT_EQ(batch.ids[0], dataset::made_record(kFormat, step * 10)[3]);
    }
  }
}

TEST_F(Batches, AreSeenAheadOnceTheyAreRead) {
  const ClickOrder order(kSamples, 10, Shuffle::kNone, 3);
  const auto reader = training_batches(source(), order, {10, 0, 10}, 0, 6);
  const auto first_id = [](std::int64_t step) {
    return dataset::made_record(kFormat, step * 10)[3];
  };
  for (std::int64_t step = 0; step < 6; ++step) {
    const dataset::ClickBatch& batch = reader->next();
    if (step % 2 == 0) {
      const dataset::ClickBatch* ahead = nullptr;
      while ((ahead = reader->ahead()) == nullptr) std::this_thread::yield();
      EXPECT_EQ(ahead->ids[0], first_id(step + 1));
      EXPECT_EQ(reader->ahead(), ahead) << "as often as wanted";
    }
    EXPECT_EQ(batch.ids[0], first_id(step));
  }
  EXPECT_EQ(reader->ahead(), nullptr) << "there is no more";
  EXPECT_THROW(reader->next(), base::Error);
}

TEST_F(Batches, TellOfABadRecordInTheStepThatHoldsIt) {
  damage(35, 0, 9);
  const ClickOrder order(kSamples, 10, Shuffle::kNone, 3);
  const auto reader = training_batches(source(), order, {10, 0, 10}, 0, 10);
  for (int step = 0; step < 3; ++step) EXPECT_NO_THROW(reader->next());
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { reader->next(); }),
              HasSubstr("a.bin: record 35: column 0 (label): expected 0 or 1, found 9"));
  const auto spared = training_batches(source(), order, {10, 6, 4}, 0, 10);
  for (int step = 0; step < 10; ++step) EXPECT_NO_THROW(spared->next());
}

TEST_F(Batches, TellOfAFileThatBecameShort) {
  const auto shortened = source();
  std::filesystem::resize_file(path_, 24 * 50);
  const ClickOrder order(kSamples, 10, Shuffle::kNone, 3);
  const auto reader = training_batches(shortened, order, {10, 0, 10}, 4, 10);
  EXPECT_NO_THROW(reader->next());
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { reader->next(); }),
              HasSubstr("a.bin: offset 1200: expected 240 bytes, the file ends after 0"));
}

TEST_F(Batches, ReadNoFurtherAheadThanAskedAndStopEarly) {
  constexpr std::int64_t kAhead = 2;
  const ClickOrder order(kSamples, 1, Shuffle::kNone, 3);
  {
    const auto reader = training_batches(source(kAhead), order, {1, 0, 1}, 0, 1'000'000);
    reader->next();
  }
  const std::int64_t bytes = read_.take().source_bytes;
  EXPECT_GE(bytes, 24);
  EXPECT_LE(bytes, 24 * (1 + kAhead));
}

}  // namespace
}  // namespace dlrm
