// Tests of the sets of a run with samples in memory: when sets are opened, and which samples a rank
// gets.
#include "workloads/parallel/sample_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runner/base/error.h"
#include "runner/base/split_evenly.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace parallel {
namespace {

/// A dataset of `samples` samples of one byte each.
class Counted final : public dataset::Dataset {
 public:
  Counted(std::int64_t samples, std::string source)
      : samples_(samples), source_(std::move(source)) {}
  std::int64_t size() const override { return samples_; }
  const std::vector<std::string>& class_names() const override { return names_; }
  std::int32_t label(std::int64_t /*index*/) const override { return 0; }
  std::int64_t bytes(std::int64_t /*index*/) const override { return 1; }
  void read(std::int64_t index, std::vector<std::byte>& out) const override {
    out.assign(1, static_cast<std::byte>(index));
  }
  std::string name(std::int64_t index) const override { return std::to_string(index); }
  std::string source() const override { return source_; }

 private:
  const std::int64_t samples_;
  const std::string source_;
  const std::vector<std::string> names_ = {""};
};

class SampleSetsOnRanks : public testing::Test {
 protected:
  static constexpr std::int64_t kTrain = 50, kValidation = 9;
  SampleSetsOnRanks() {
    config_.global_batch_size = 12;
    config_.epochs = 3;
    config_.seed = 4;
    config_.staging.mode = staging::StagingMode::kStream;
    config_.group = world_.rank();
    config_.groups = world_.size();
  }
  SampleSets::Open open() {
    return SampleSets::by_path("train", "validation", [this](const std::string& path) {
      opened_.push_back(path);
      return std::make_shared<Counted>(path == "train" ? kTrain : kValidation, path);
    });
  }
  BatchSplit split(std::int64_t passes) const {
    DataParallelConfig config;
    config.global_batch = config_.global_batch_size;
    config.accumulation = passes;
    return split_batch(config, world_.size());
  }
  const runner::Communicator world_ = runner::Communicator::world();
  const runner::Topology topology_ = runner::discover_topology(world_);
  const base::SystemClock clock_;
  SampleSetsConfig config_;
  std::vector<std::string> opened_;
};

TEST_F(SampleSetsOnRanks, OpenWhatIsNeededOnce) {
  SampleSets sets(config_, open(), world_, topology_, clock_);
  EXPECT_TRUE(opened_.empty());
  EXPECT_EQ(sets.steps_per_epoch(), 0);
  sets.open_validation();
  sets.open_validation();
  EXPECT_THAT(opened_, testing::ElementsAre("validation"));
  EXPECT_EQ(sets.train_samples(), 0);
  EXPECT_EQ(sets.validation_samples(), kValidation);
  sets.open();
  sets.open();
  EXPECT_THAT(opened_, testing::ElementsAre("validation", "train"));
  EXPECT_EQ(sets.train_samples(), kTrain);
  EXPECT_EQ(sets.steps_per_epoch(), kTrain / 12);
  EXPECT_EQ(sets.train()->source(), "train");
  EXPECT_EQ(sets.validation()->source(), "validation");
}

TEST_F(SampleSetsOnRanks, AreOpenedByStagingAsWhatDerivesFromThemDoes) {
  class Counting final : public SampleSets {
   public:
    using SampleSets::SampleSets;
    void open() override {
      SampleSets::open();
      ++times_opened;
    }
    int times_opened = 0;
  };
  config_.staging.mode = staging::StagingMode::kShard;
  config_.staging.directory = ".";
  Counting planned(config_, open(), world_, topology_, clock_);
  EXPECT_TRUE(planned.staging_plan(split(1)).contains("train"));
  EXPECT_EQ(planned.times_opened, 0);
  EXPECT_THAT(opened_, testing::UnorderedElementsAre("validation", "train"));
  config_.staging.mode = staging::StagingMode::kStream;
  Counting sets(config_, open(), world_, topology_, clock_);
  (void)sets.stage(split(1));
  EXPECT_EQ(sets.times_opened, 1);
  EXPECT_EQ(sets.train()->size(), kTrain);
}

TEST_F(SampleSetsOnRanks, TellStagingWhatAnEpochReads) {
  config_.staging.mode = staging::StagingMode::kAuto;
  config_.staging.directory = "missing";
  config_.staging.given.rates =
      staging::Rates{.source = 1.0, .local_write = 1e9, .local_read = 1e9};
  config_.staging.given.cache_bytes = 0;
  SampleSets sets(config_, open(), world_, topology_, clock_);
  sets.expect({.epochs = 3,
               .evaluations_per_epoch = 2.0,
               .node_memory_bytes = [] { return 0; },
               .step_compute_s = [] { return 10.0; }});
  // Samples of a byte: 48 in the 4 steps of an epoch, and 9 in each evaluation.
  const auto choice = sets.staging_plan(split(1))["choice"];
  EXPECT_EQ(choice["epochs"], 3);
  EXPECT_EQ(choice["epoch_compute_s"], 40.0);
  EXPECT_EQ(choice["modes"][0]["mode"], "stream");
  EXPECT_DOUBLE_EQ(choice["modes"][0]["total_s"], 3 * (48.0 + 2 * 9.0));
  EXPECT_EQ(sets.staging_plan(split(3))["choice"]["modes"], choice["modes"]);
}

TEST_F(SampleSetsOnRanks, KnowTheCountsWhereBothAreConfigured) {
  EXPECT_FALSE(SampleSets(config_, open(), world_, topology_, clock_).counts_known());
  config_.read.train_samples = kTrain;
  config_.read.validation_samples = kValidation;
  EXPECT_TRUE(SampleSets(config_, open(), world_, topology_, clock_).counts_known());
}

TEST_F(SampleSetsOnRanks, KnowTheOrderWithoutAFileWhenCountsAreGiven) {
  config_.read.train_samples = kTrain;
  SampleSets sets(config_, open(), world_, topology_, clock_);
  EXPECT_EQ(sets.steps_per_epoch(), kTrain / 12);
  EXPECT_GE(sets.training_place(split(1), 0, 0).index, 0);
  EXPECT_TRUE(opened_.empty());
}

TEST_F(SampleSetsOnRanks, RefuseOtherCountsAndKeepNothingOfThem) {
  config_.read.train_samples = kTrain - 1;
  SampleSets sets(config_, open(), world_, topology_, clock_);
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(base::thrown_message<base::DataError>([&] { sets.open(); }),
              "train: /dataset/train_samples: expected 49 samples, found 50");
    EXPECT_EQ(sets.validation(), nullptr);
  }
  EXPECT_NO_THROW(sets.open_validation());
}

TEST_F(SampleSetsOnRanks, CountPassesFromTheStartOfTheRun) {
  SampleSets sets(config_, open(), world_, topology_, clock_);
  sets.open();
  const staging::SampleOrder order(kTrain, 12, 1, 4);
  for (const std::int64_t passes : {1, 3}) {
    const BatchSplit split = this->split(passes);
    EXPECT_EQ(SampleSets::first_batch(split, 5), 5 * passes);
    EXPECT_EQ(sets.training_batch_count(split), 3 * 4 * passes);
    std::int64_t samples = sets.batch_samples(split);
    world_.allreduce_sum(std::span<std::int64_t>(&samples, 1));
    EXPECT_EQ(samples, 12 / passes);
    for (std::int64_t batch = 0; batch < sets.training_batch_count(split); ++batch) {
      for (std::int64_t slot = 0; slot < sets.batch_samples(split); ++slot) {
        const std::int64_t step = batch / passes;
        const SamplePlace place = sets.training_place(split, batch, slot);
        EXPECT_EQ(place.epoch, step / 4);
        EXPECT_EQ(place.index,
                  order.index(step / 4, step % 4, split.slot(world_.rank(), batch % passes, slot)));
      }
    }
  }
}

TEST_F(SampleSetsOnRanks, GiveRanksOfAGroupTheSameValidationSamples) {
  config_.groups = (world_.size() + 1) / 2;
  config_.group = world_.rank() / 2;
  SampleSets sets(config_, open(), world_, topology_, clock_);
  sets.open_validation();
  const auto part = sets.validation_part();
  EXPECT_EQ(part, base::split_evenly(kValidation, config_.groups, config_.group));
  std::int64_t index = part.first;
  for (std::int64_t batch = 0; batch < sets.validation_batch_count(4); ++batch) {
    for (std::int64_t slot = 0; slot < 4; ++slot, ++index) {
      EXPECT_EQ(sets.validation_place(4, batch, slot).index, index < part.second ? index : -1);
    }
  }
  EXPECT_GE(index, part.second);
}

TEST_F(SampleSetsOnRanks, CountWhatWasRead) {
  SampleSets sets(config_, open(), world_, topology_, clock_);
  sets.open();
  sets.count_read(*sets.train(), 3);
  sets.count_read(*sets.validation(), 4);
  sets.count_skipped(SampleSet::kTrain, 5);
  const ReadCounts counts = sets.take_counts();
  EXPECT_EQ(counts.bytes, 7);
  EXPECT_EQ(counts.levels, (staging::LevelCounts{.source_samples = 2, .source_bytes = 7}));
  EXPECT_EQ(counts.skipped, 1);
  EXPECT_EQ(sets.take_counts().bytes, 0);
  EXPECT_EQ(sets.take_counts().skipped, 0);
}

TEST_F(SampleSetsOnRanks, CountAnOddSampleOnce) {
  SampleSets sets(config_, open(), world_, topology_, clock_);
  for (int reading = 0; reading < 3; ++reading) {
    sets.count_skipped(SampleSet::kTrain, 2);
    sets.count_skipped(SampleSet::kValidation, 2);
    sets.count_flawed(SampleSet::kTrain, 4, "e.jpg: odd");
    const ReadCounts counts = sets.take_counts();
    EXPECT_EQ(counts.skipped, reading == 0 ? 2 : 0);
    EXPECT_EQ(counts.flawed, reading == 0 ? 1 : 0);
  }
  EXPECT_THAT(sets.take_remarks(), testing::ElementsAre("e.jpg: odd"));
}

/// Reads each sample of both sets once.
std::int64_t read_all(SampleSets& sets) {
  std::vector<std::byte> bytes;
  for (const SampleSets::Source& set : {sets.train(), sets.validation()}) {
    for (std::int64_t i = 0; i < set->size(); ++i) {
      set->read(i, bytes);
      sets.count_read(*set, std::ssize(bytes));
    }
  }
  return sets.train()->size() + sets.validation()->size();
}

TEST_F(SampleSetsOnRanks, CountReadsByWhereTheSamplesAre) {
  const base::TemporaryDirectory folder;  // of each rank alone
  const runner::Communicator alone = world_.split(-1, 0);
  const runner::Topology node = runner::discover_topology(alone);
  const BatchSplit whole = split_batch({.global_batch = config_.global_batch_size}, 1);
  config_.group = 0;
  config_.groups = 1;
  for (const auto mode : {staging::StagingMode::kStream, staging::StagingMode::kFull}) {
    config_.staging = {mode, folder.path().string()};
    SampleSets sets(config_, open(), alone, node, clock_);
    sets.stage(whole);
    EXPECT_EQ(sets.take_counts().levels, staging::LevelCounts()) << "staging is no reading";
    const std::int64_t read = read_all(sets);
    sets.count_kept(7);
    const ReadCounts counts = sets.take_counts();
    EXPECT_EQ(counts.bytes, read);
    staging::LevelCounts expected{.memory_samples = 1, .memory_bytes = 7};
    if (mode == staging::StagingMode::kStream) {
      expected.source_samples = expected.source_bytes = read;
    } else {
      expected.copy_samples = expected.copy_bytes = read;
    }
    EXPECT_EQ(counts.levels, expected);
    sets.clean_up();
  }
}

TEST_F(SampleSetsOnRanks, CountReadsByWhetherTheCacheHasTheSamples) {
  config_.cache.memory_bytes = 2 * kTrain;
  SampleSets sets(config_, open(), world_, topology_, clock_);
  const BatchSplit split = this->split(1);
  const nlohmann::json facts = sets.stage(split);
  EXPECT_EQ(facts["cache"]["policy"], "next_use");
  std::vector<std::byte> bytes;
  const auto read = [&](const SampleSets::Source& set, std::int64_t index) {
    set->read(index, bytes);
    EXPECT_EQ(bytes, std::vector<std::byte>(1, static_cast<std::byte>(index)));
    sets.count_read(*set, std::ssize(bytes));
  };
  std::int64_t reads = 0;
  for (std::int64_t batch = sets.begin_training(split, 0); batch < sets.training_batch_count(split);
       ++batch) {
    for (std::int64_t slot = 0; slot < sets.batch_samples(split); ++slot, ++reads) {
      const SamplePlace place = sets.training_place(split, batch, slot);
      read(sets.train_in(place.epoch), place.index);
    }
    world_.barrier();
  }
  read(sets.validation(), 1);
  const ReadCounts counts = sets.take_counts();
  EXPECT_EQ(counts.bytes, reads + 1);
  EXPECT_EQ(
      counts.levels.source_samples + counts.levels.memory_samples + counts.levels.peer_samples,
      reads + 1);
  std::int64_t from_source = counts.levels.source_samples - 1;
  world_.allreduce_sum(std::span(&from_source, 1));
  // The two that the first epoch drops may be on their way to their home when it needs them.
  EXPECT_LE(from_source, kTrain + 2);
  EXPECT_GE(from_source, kTrain - 2);
  EXPECT_EQ(sets.take_counts().levels, staging::LevelCounts());
  sets.clean_up();
}

TEST_F(SampleSetsOnRanks, CacheNothingOfCopies) {
  const base::TemporaryDirectory folder;  // of each rank alone
  const runner::Communicator alone = world_.split(-1, 0);
  const runner::Topology node = runner::discover_topology(alone);
  config_.group = 0;
  config_.groups = 1;
  config_.cache.memory_bytes = kTrain;
  config_.staging = {staging::StagingMode::kFull, folder.path().string()};
  SampleSets sets(config_, open(), alone, node, clock_);
  EXPECT_FALSE(
      sets.stage(split_batch({.global_batch = config_.global_batch_size}, 1)).contains("cache"));
  EXPECT_EQ(sets.train_in(1), sets.train());
  sets.clean_up();
}

}  // namespace
}  // namespace parallel
