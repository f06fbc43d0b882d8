// Tests of the data of a run on any number of ranks: who gets, reads and stages which sample.
#include "workloads/deepcam/climate_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "shared_directory.h"
#include "staging/dataset/climate_folder.h"
#include "workloads/deepcam/generate.h"

namespace deepcam {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::int64_t kHeight = 16, kWidth = 32, kTrain = 29, kValidation = 11;
/// Divisible into two passes. Of the tested numbers of ranks, only 1 and 2 divide it.
constexpr std::int64_t kBatch = 10, kEpochs = 3, kStepsPerEpoch = 2;

class ClimateDataOnRanks : public testing::Test {
 protected:
  ClimateDataOnRanks() {
    config_.train = root() + "/train";
    config_.validation = root() + "/validation";
    config_.statistics = root() + "/stats.h5";
    config_.decode_threads = 2;
    staging_.mode = staging::StagingMode::kStream;
    staging_.directory = folder_.path() + "/near";
    if (world_.rank() == 0) {
      GenerateOptions options;
      options.output = root();
      options.train_samples = kTrain;
      options.validation_samples = kValidation;
      options.height = kHeight;
      options.width = kWidth;
      options.threads = 1;
      generate_climate(options);
    }
    world_.barrier();
  }
  std::string root() const { return folder_.path() + "/data"; }
  ClimateData data(std::int64_t height = kHeight) const {
    return {config_, staging_, {},        kBatch, kEpochs, height,
            kWidth,  world_,   topology_, clock_, 2,       5};
  }
  parallel::BatchSplit split(std::int64_t passes = 2) const {
    parallel::DataParallelConfig config;
    config.global_batch = kBatch;
    config.accumulation = passes;
    return parallel::split_batch(config, world_.size());
  }
  std::int64_t sum(std::int64_t value) const {
    world_.allreduce_sum(std::span<std::int64_t>(&value, 1));
    return value;
  }
  /// How often each sample was seen, summed over ranks.
  std::vector<std::int64_t> summed(std::vector<std::int64_t> counts) const {
    world_.allreduce_sum(std::span<std::int64_t>(counts));
    return counts;
  }
  /// Expects `slot` to hold its sample of the folder.
  static void expect_sample(const ClimateSlot& slot, const std::string& folder) {
    const auto source = dataset::open_climate(folder);
    dataset::ClimateSample expected;
    dataset::read_climate(*source, slot.index(), {kHeight, kWidth}, expected);
    EXPECT_EQ(slot.sample().values, expected.values);
    EXPECT_EQ(slot.sample().labels, expected.labels);
  }

  const runner::Communicator world_ = runner::Communicator::world();
  const runner::Topology topology_ = runner::discover_topology(world_);
  const base::SystemClock clock_;
  const runner::SharedDirectory folder_{world_};
  DataConfig config_;
  staging::StagingConfig staging_;
};

TEST_F(ClimateDataOnRanks, SharesOutEveryStepAsOneRankWouldHaveIt) {
  ClimateData data = this->data();
  data.open();
  EXPECT_EQ(data.train_samples(), kTrain);
  EXPECT_EQ(data.validation_samples(), kValidation);
  EXPECT_EQ(data.steps_per_epoch(), kStepsPerEpoch);
  const staging::SampleOrder order(kTrain, kBatch, 1, 5);
  const parallel::BatchSplit split = this->split();
  constexpr std::int64_t kFirst = 1;
  const auto batches = data.training_batches(split, kFirst);
  for (std::int64_t step = kFirst; step < kEpochs * kStepsPerEpoch; ++step) {
    std::vector<std::int64_t> seen(kTrain);
    for (std::int64_t pass = 0; pass < split.accumulation; ++pass) {
      const ClimateBatch& batch = batches->next();
      const auto& slice = split.slices[static_cast<std::size_t>(world_.rank())];
      ASSERT_EQ(static_cast<std::int64_t>(batch.size()), slice.count);
      for (std::int64_t slot = 0; slot < slice.count; ++slot) {
        const ClimateSlot& found = batch[static_cast<std::size_t>(slot)];
        EXPECT_EQ(found.index(), order.index(step / kStepsPerEpoch, step % kStepsPerEpoch,
                                             split.slot(world_.rank(), pass, slot)));
        ++seen[static_cast<std::size_t>(found.index())];
        if (step == kFirst) expect_sample(found, config_.train);
      }
    }
    std::int64_t all = 0;
    for (const std::int64_t times : summed(seen)) {
      EXPECT_LE(times, 1);
      all += times;
    }
    EXPECT_EQ(all, kBatch);
  }
  EXPECT_THROW(batches->next(), base::Error);
}

TEST_F(ClimateDataOnRanks, EvaluatesEverySampleOnceInUnevenParts) {
  ClimateData data = this->data();
  data.open_validation();
  EXPECT_EQ(data.train_samples(), 0);
  const auto [first, last] = data.validation_part();
  for (const std::int64_t size : {1, 2, 4}) {
    std::vector<std::int64_t> seen(kValidation);
    const auto batches = data.validation_batches(size);
    for (std::int64_t batch = 0; batch < base::ceil_div(last - first, size); ++batch) {
      const ClimateBatch& next = batches->next();
      ASSERT_EQ(static_cast<std::int64_t>(next.size()), size);
      for (std::int64_t slot = 0; slot < size; ++slot) {
        const std::int64_t index = first + batch * size + slot;
        const ClimateSlot& found = next[static_cast<std::size_t>(slot)];
        EXPECT_EQ(found.index(), index < last ? index : -1);
        if (found.index() < 0) continue;
        ++seen[static_cast<std::size_t>(index)];
        if (size == 2) expect_sample(found, config_.validation);
      }
    }
    EXPECT_THROW(batches->next(), base::Error);
    EXPECT_THAT(summed(seen), testing::Each(1));
  }
}

TEST_F(ClimateDataOnRanks, ReadsWhatTheCacheHoldsOnce) {
  std::vector<std::int64_t> kept;  // samples of each pass
  const auto bytes_of_passes = [&](ClimateData& data) {
    std::vector<std::int64_t> bytes;
    kept.clear();
    for (int pass = 0; pass < 3; ++pass) {
      const auto batches = data.validation_batches(1);
      const auto [first, last] = data.validation_part();
      for (std::int64_t i = first; i < last; ++i) batches->next();
      const parallel::ReadCounts counts = data.take_counts();
      bytes.push_back(sum(counts.bytes));
      kept.push_back(sum(counts.levels.memory_samples));
    }
    return bytes;
  };
  constexpr std::int64_t kFile = kHeight * kWidth * (16 * 4 + 8);
  ClimateData without = data();
  for (const std::int64_t bytes : bytes_of_passes(without)) EXPECT_GE(bytes, kValidation * kFile);
  EXPECT_THAT(kept, testing::Each(0));
  config_.cache_bytes = 5 * kValidation * kHeight * kWidth * (16 * 4 + 1);
  ClimateData with = data();
  const auto bytes = bytes_of_passes(with);
  EXPECT_GE(bytes[0], kValidation * kFile);
  EXPECT_THAT(std::vector(bytes.begin() + 1, bytes.end()), testing::Each(0));
  EXPECT_THAT(kept, testing::ElementsAre(0, kValidation, kValidation));
}

TEST_F(ClimateDataOnRanks, TrainsOnACopyThatIsNearAndRemovesIt) {
  config_.shards = 2;
  staging_.mode = staging::StagingMode::kShard;
  ClimateData data = this->data();
  const auto plan = data.staging_plan(split());
  EXPECT_EQ(plan["fits"], true);
  EXPECT_EQ(plan["train"]["samples"], kTrain);
  const auto facts = data.stage(split());
  EXPECT_EQ(facts["train"]["samples"], kTrain);
  EXPECT_EQ(facts["validation"]["samples"], kValidation);
  EXPECT_GE(sum(data.take_counts().staged), (kTrain + kValidation) * kHeight * kWidth * 72);
  world_.barrier();
  if (world_.rank() == 0) fs::rename(config_.train, config_.train + "_gone");
  world_.barrier();
  {
    const auto batches = data.training_batches(split(), 0);
    for (std::int64_t batch = 0; batch < kEpochs * kStepsPerEpoch * 2; ++batch) batches->next();
  }
  EXPECT_GT(sum(data.take_counts().bytes), 0);
  world_.barrier();
  data.clean_up();
  world_.barrier();
  EXPECT_TRUE(fs::is_empty(staging_.directory));
}

TEST_F(ClimateDataOnRanks, ReadsInPlaceWithoutStaging) {
  ClimateData data = this->data();
  EXPECT_TRUE(data.staging_plan(split()).is_null());
  EXPECT_EQ(data.stage(split())["train"]["mode"], "stream");
  EXPECT_EQ(data.take_counts().staged, 0);
  EXPECT_FALSE(fs::exists(staging_.directory));
}

TEST_F(ClimateDataOnRanks, KnowsTheStatisticsOnEveryRank) {
  ClimateData data = this->data();
  EXPECT_THROW(data.statistics(), base::Error);
  data.open_validation();
  const auto expected = dataset::read_climate_statistics(config_.statistics);
  EXPECT_EQ(data.statistics().minval, expected.minval);
  EXPECT_EQ(data.statistics().maxval, expected.maxval);
}

TEST_F(ClimateDataOnRanks, RefusesOtherCountsEachTime) {
  config_.validation_samples = kValidation + 1;
  ClimateData data = this->data();
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(base::thrown_message<base::DataError>([&] { data.open(); }),
              config_.validation + ": /dataset/validation_samples: expected 12 samples, found 11");
  }
  config_.validation_samples = 0;
  config_.train_samples = 30;
  ClimateData other = this->data();
  EXPECT_EQ(base::thrown_message<base::DataError>([&] { other.open(); }),
            config_.train + ": /dataset/train_samples: expected 30 samples, found 29");
}

TEST_F(ClimateDataOnRanks, TellsOnEveryRankWhatIsMissing) {
  config_.statistics = root() + "/none.h5";
  ClimateData without_statistics = data();
  EXPECT_THAT(base::thrown_message<base::Error>([&] { without_statistics.open(); }),
              HasSubstr("none.h5: cannot be opened"));
  config_.validation = root() + "/none";
  ClimateData without_validation = data();
  EXPECT_THAT(base::thrown_message<base::Error>([&] { without_validation.open_validation(); }),
              HasSubstr("none: cannot be listed"));
  ClimateData other_shape = data(kHeight * 2);
  config_.validation = root() + "/validation";
  EXPECT_EQ(other_shape.staging_plan(split()), nullptr);
}

TEST_F(ClimateDataOnRanks, NamesTheFileOfAnotherShape) {
  ClimateData data = this->data(kHeight * 2);
  const auto batches = data.training_batches(split(), 0);
  EXPECT_THAT(base::thrown_message<base::DataError>([&] {
                for (std::int64_t batch = 0; batch < 4; ++batch) batches->next();
              }),
              HasSubstr("climate/data: expected float32 or float64 of shape [32, 32, 16], found "
                        "float32 of shape [16, 32, 16]"));
}

}  // namespace
}  // namespace deepcam
