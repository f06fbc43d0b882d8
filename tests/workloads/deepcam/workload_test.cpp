// Tests of the DeepCAM workload: any number of ranks that share batch-norm statistics computes the
// result of one rank.
#include "workloads/deepcam/workload.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "runner/base/split_evenly.h"
#include "runner/base/thrown_message.h"
#include "staging/dataset/compressed.h"
#include "staging/h5.h"
#include "workloads/deepcam/trial.h"

namespace {

namespace fs = std::filesystem;
using deepcam::config_of;
using deepcam::kBatch;
using deepcam::kStepsPerEpoch;
using deepcam::kTrainSamples;
using deepcam::kValidationSamples;
using deepcam::MaskSink;
using deepcam::SharedScenes;
using deepcam::Trial;
using nlohmann::json;
using telemetry::Counter;
using testing::HasSubstr;
using workload_trial::Arrays;

/// Single-precision sums in another order, through twenty batch norms.
constexpr double kLossTolerance = 1e-4, kUpdateTolerance = 5e-3;

class DeepCamWorkload : public testing::Test {
 protected:
  void expect_same_training(const json& many_config) const {
    json one_config = many_config;
    one_config["training"]["bn_group_ranks"] = 1;
    Trial many(world_, many_config), one(alone_, one_config);
    const Arrays start = one.weights();
    EXPECT_EQ(many.weights(), start);
    for (std::int64_t step = 0; step < 2; ++step) {
      const runner::TrainResult expected = one.workload().train(1);
      const runner::TrainResult found = many.workload().train(1);
      EXPECT_NEAR(found.mean_loss, expected.mean_loss, kLossTolerance * expected.mean_loss);
      EXPECT_EQ(found.samples, expected.samples);
      EXPECT_DOUBLE_EQ(found.learning_rate, expected.learning_rate);
    }
    EXPECT_LT(workload_trial::update_error(start, many.weights(), one.weights()), kUpdateTolerance);
    EXPECT_NEAR(many.workload().evaluate(nullptr), one.workload().evaluate(nullptr), 1e-3);
    EXPECT_EQ(world_.allreduce_max(static_cast<std::int64_t>(many.workload().replica_hash() >> 1)),
              static_cast<std::int64_t>(many.workload().replica_hash() >> 1));
  }
  const runner::Communicator world_ = runner::Communicator::world();
  const runner::Communicator alone_ = world_.split(world_.rank(), 0);
  const SharedScenes scenes_{world_};
};

TEST_F(DeepCamWorkload, TrainsAsOneRankDoes) { expect_same_training(config_of(scenes_, world_)); }

TEST_F(DeepCamWorkload, TrainsAsOneRankDoesWithLambAndStaging) {
  json config = config_of(scenes_, world_, "shard");
  config["optimizer"] = {{"name", "lamb"}, {"epsilon", 0.01}};
  expect_same_training(config);
}

TEST_F(DeepCamWorkload, TrainsToTheSameBitsFromCompressedSamples) {
  const auto train = [&](const std::string& staging) {
    Trial trial(world_, config_of(scenes_, world_, staging));
    const double loss = trial.workload().train(2).mean_loss;
    const std::pair found(trial.workload().replica_hash(), loss);
    trial.workload().clean_up();
    return found;
  };
  const auto expected = train("stream");
  if (world_.rank() == 0) {
    dataset::compress_files(scenes_.path() + "/data/train");
    dataset::compress_files(scenes_.path() + "/data/validation");
  }
  world_.barrier();
  for (const char* staging : {"stream", "shard", "scatter"}) {
    EXPECT_EQ(train(staging), expected) << staging;
  }
}

TEST_F(DeepCamWorkload, AccumulatesGradientsOfSeveralPasses) {
  json config = config_of(scenes_, world_);
  config["training"]["gradient_accumulation_steps"] = 2;
  if (world_.size() > kBatch / 2) return;  // a rank without a sample is refused
  expect_same_training(config);
}

TEST_F(DeepCamWorkload, LogsWhatItDid) {
  Trial trial(world_, config_of(scenes_, world_));
  const runner::WorkloadInfo& info = trial.workload().info();
  EXPECT_EQ(info.benchmark, "deepcam");
  EXPECT_EQ(info.train_samples, kTrainSamples);
  EXPECT_EQ(info.eval_samples, kValidationSamples);
  EXPECT_EQ(info.steps_per_epoch, kStepsPerEpoch);
  EXPECT_EQ(info.norm_group_samples, kBatch);
  const runner::TrainResult result = trial.workload().train(kStepsPerEpoch);
  EXPECT_EQ(result.samples, kTrainSamples);
  std::int64_t samples = trial.count(Counter::kTrainSamples);
  world_.allreduce_sum(std::span<std::int64_t>(&samples, 1));
  EXPECT_EQ(samples, kTrainSamples);
}

/// The score is the mean over samples of the IoU of predicted and true masks.
TEST_F(DeepCamWorkload, ScoresTheMasksThatItGives) {
  Trial trial(world_, config_of(scenes_, world_));
  trial.workload().train(kStepsPerEpoch);
  MaskSink sink;
  const double score = trial.workload().evaluate(world_.rank() == 0 ? &sink : nullptr);
  EXPECT_EQ(score, trial.workload().evaluate(nullptr));
  if (world_.rank() != 0) return;
  ASSERT_EQ(sink.known(), static_cast<std::size_t>(kValidationSamples));
  double sum = 0.0;
  for (std::int64_t sample = 0; sample < kValidationSamples; ++sample) {
    sum += sink.mean_iou(sample, sample + 1);
  }
  EXPECT_NEAR(score, sum / static_cast<double>(kValidationSamples), 1e-12);
}

/// As in the benchmark's first round: the IoU of each rank's batch, then the mean over batches.
TEST_F(DeepCamWorkload, ScoresWholeBatches) {
  json config = config_of(scenes_, world_);
  config["evaluation"]["iou_over"] = "batch";
  Trial trial(world_, config);
  trial.workload().train(kStepsPerEpoch);
  MaskSink sink;
  const double score = trial.workload().evaluate(world_.rank() == 0 ? &sink : nullptr);
  if (world_.rank() != 0) return;
  const std::int64_t ranks = world_.size(), size = base::ceil_div(kBatch, ranks);
  double sum = 0.0;
  int batches = 0;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const auto [begin, end] = base::split_evenly(kValidationSamples, ranks, rank);
    for (std::int64_t first = begin; first < end; first += size) {
      sum += sink.mean_iou(first, std::min(first + size, end));
      ++batches;
    }
  }
  EXPECT_NEAR(score, sum / batches, 1e-12);
}

TEST_F(DeepCamWorkload, LoadsWhatItSaved) {
  const std::string path = scenes_.path() + "/weights.h5";
  Trial trained(world_, config_of(scenes_, world_));
  trained.workload().train(2);
  {
    std::unique_ptr<staging::H5StateWriter> writer;
    if (world_.rank() == 0) writer = std::make_unique<staging::H5StateWriter>(path);
    trained.workload().save_weights(writer.get());
    if (writer) writer->finish();
  }
  world_.barrier();
  Trial loaded(world_, config_of(scenes_, world_));
  loaded.workload().load_weights(staging::H5StateReader(path));
  EXPECT_EQ(loaded.weights(), trained.weights());
  EXPECT_EQ(loaded.workload().evaluate(nullptr), trained.workload().evaluate(nullptr));
}

TEST_F(DeepCamWorkload, HasNoQualityWithWeightsThatAreNotNumbers) {
  Trial trial(world_, config_of(scenes_, world_));
  workload_trial::MemoryState state;
  trial.workload().save_weights(&state);
  workload_trial::expect_no_quality_with_nan(world_, trial.workload(), state);
}

TEST_F(DeepCamWorkload, RefusesSamplesOfAnotherSize) {
  json config = config_of(scenes_, world_);
  config["model"]["height"] = 16;
  Trial trial(world_, config);
  EXPECT_THAT(base::thrown_message<base::Error>([&] { trial.workload().train(1); }),
              HasSubstr("climate/data"));
}

}  // namespace
