// Tests of the ResNet-50 workload on JPEG files: any number of ranks computes the result of one
// rank.
#include "workloads/resnet50/workload.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <optional>

#include "runner/base/error.h"
#include "workloads/resnet50/trial.h"

namespace {

namespace fs = std::filesystem;
using resnet50::config_of;
using resnet50::SharedImages;
using resnet50::Trial;
using workload_trial::Arrays;
using workload_trial::MemoryState;
using workload_trial::update_error;

/// Drops the running statistics of batch norms.
Arrays parameters_of(Arrays all) {
  std::erase_if(
      all, [](const auto& array) { return array.first.find("running_") != std::string::npos; });
  return all;
}

TEST(ResNet50Workload, DoesTheMathematicsOfOneRank) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator alone = world.split(-1, 0);
  const SharedImages images(world);
  Trial many(world, config_of(images, "shard"));
  Trial one(alone, config_of(images, "stream"));
  EXPECT_EQ(many.workload().info().train_samples, 120);
  EXPECT_EQ(many.workload().info().eval_samples, 21);
  EXPECT_EQ(many.workload().info().steps_per_epoch, 2);
  EXPECT_EQ(many.workload().replica_hash(), one.workload().replica_hash());
  // Every byte of both sets was copied once, by one of the ranks.
  std::int64_t staged = many.count(telemetry::Counter::kBytesStaged);
  world.allreduce_sum(std::span<std::int64_t>(&staged, 1));
  EXPECT_EQ(staged, many.staging()["train"]["bytes"].get<std::int64_t>() +
                        many.staging()["validation"]["bytes"].get<std::int64_t>());
  EXPECT_EQ(one.count(telemetry::Counter::kBytesStaged), 0);
  // The shards of 21 images are uneven; every image counts once.
  EXPECT_EQ(many.workload().evaluate(nullptr), one.workload().evaluate(nullptr));
  // Copies are read by who copied them, the source by who streams.
  EXPECT_GT(many.count(telemetry::Counter::kSamplesFromCopy), 0);
  EXPECT_EQ(many.count(telemetry::Counter::kBytesFromSource), 0);
  EXPECT_EQ(one.count(telemetry::Counter::kSamplesFromSource), 21);
  EXPECT_EQ(one.count(telemetry::Counter::kBytesFromSource),
            one.count(telemetry::Counter::kBytesRead));
  EXPECT_EQ(one.count(telemetry::Counter::kBytesFromCopy), 0);

  const Arrays start = one.weights();
  const runner::TrainResult first_many = many.workload().train(1),
                            first_one = one.workload().train(1);
  EXPECT_EQ(first_many.samples, 48);
  // The forward bits are equal; only the sum over ranks has another order.
  EXPECT_NEAR(first_many.mean_loss, first_one.mean_loss, 1e-13);
  const Arrays weights_many = many.weights(), weights_one = one.weights();
  EXPECT_LT(update_error(start, weights_many, parameters_of(weights_one)), 1e-5);
  for (const auto& [name, values] : weights_one) {
    if (name.find("running_") == std::string::npos) continue;
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(weights_many.at(name)[i], values[i],
                  1e-6 * (1.0 + std::abs(static_cast<double>(values[i]))))
          << name;
    }
  }
  // Replicas stay bitwise equal across the end of an epoch.
  many.workload().train(2);
  const auto hash = static_cast<std::int64_t>(many.workload().replica_hash() >> 1U);
  EXPECT_EQ(world.allreduce_min(hash), world.allreduce_max(hash));
  many.workload().clean_up();
  EXPECT_TRUE(!fs::exists(images.path() + "/staged") || fs::is_empty(images.path() + "/staged"));
}

TEST(ResNet50Workload, CleansUpInTheMiddleOfARun) {
  const runner::Communicator world = runner::Communicator::world();
  const SharedImages images(world);
  nlohmann::json config = config_of(images, "shard");
  config["epochs"] = 50;  // the decoders still have much to do
  config["dataset"]["validation"] = config["dataset"]["train"];  // one staged copy serves both
  Trial trial(world, config);
  trial.workload().train(1);
  trial.workload().clean_up();
  EXPECT_TRUE(fs::is_empty(images.path() + "/staged"));
}

TEST(ResNet50Workload, GivesTheSameBitsAgain) {
  const runner::Communicator world = runner::Communicator::world();
  const SharedImages images(world);
  std::optional<std::uint64_t> hash;
  for (int i = 0; i < 2; ++i) {
    Trial trial(world, config_of(images, "stream"));
    trial.workload().train(3);
    if (hash) {
      EXPECT_EQ(trial.workload().replica_hash(), *hash);
    }
    hash = trial.workload().replica_hash();
  }
}

TEST(ResNet50Workload, LoadsWhatItSaved) {
  const runner::Communicator world = runner::Communicator::world();
  const SharedImages images(world);
  Trial trained(world, config_of(images, "stream"));
  trained.workload().train(2);
  MemoryState state;
  trained.workload().save_weights(&state);
  nlohmann::json config = config_of(images, "stream");
  config["seed"] = 12;
  Trial loaded(world, config);
  EXPECT_NE(loaded.workload().replica_hash(), trained.workload().replica_hash());
  world.barrier();  // the ranks of a node share one copy of the weights
  loaded.workload().load_weights(state);
  EXPECT_EQ(loaded.workload().replica_hash(), trained.workload().replica_hash());
  EXPECT_EQ(loaded.workload().evaluate(nullptr), trained.workload().evaluate(nullptr));
}

TEST(ResNet50Workload, HasNoQualityWithWeightsThatAreNotNumbers) {
  const runner::Communicator world = runner::Communicator::world();
  const SharedImages images(world);
  Trial trial(world, config_of(images, "stream"));
  MemoryState state;
  trial.workload().save_weights(&state);
  workload_trial::expect_no_quality_with_nan(world, trial.workload(), state);
}

TEST(ResNet50Workload, RefusesWeightsOfAnotherModel) {
  const runner::Communicator world = runner::Communicator::world();
  const SharedImages images(world);
  Trial trial(world, config_of(images, "stream"));
  MemoryState state;
  trial.workload().save_weights(&state);
  state.write("layer9.weight", {1}, std::vector<float>{1.0F});
  EXPECT_THROW(trial.workload().load_weights(state), base::DataError);
  state.arrays.erase("layer9.weight");
  state.write("fc.bias", {4}, std::vector<float>(4));  // the model has three classes
  EXPECT_THROW(trial.workload().load_weights(state), base::DataError);
}

void truncate_on_rank_0(const runner::Communicator& world, const fs::path& path) {
  if (world.rank() == 0) fs::resize_file(path, fs::file_size(path) / 2);
  world.barrier();
}

TEST(ResNet50Workload, NamesACorruptImage) {
  // On one rank: if one of several ranks fails in the middle, the whole job ends.
  const runner::Communicator alone = runner::Communicator::world().split(-1, 0);
  const SharedImages images(alone);
  const fs::path broken = images.any_image("validation");
  truncate_on_rank_0(alone, broken);
  Trial trial(alone, config_of(images, "stream"));
  try {
    trial.workload().evaluate(nullptr);
    FAIL() << "a truncated image was accepted";
  } catch (const base::DataError& error) {
    EXPECT_NE(std::string(error.what()).find(broken.filename().string()), std::string::npos)
        << error.what();
  }
}

TEST(ResNet50Workload, CountsASkippedImageWhereThatIsAllowed) {
  const runner::Communicator world = runner::Communicator::world();
  const SharedImages images(world);
  truncate_on_rank_0(world, images.any_image("train"));
  nlohmann::json config = config_of(images, "stream");
  config["dataset"]["on_corrupt"] = "skip";
  config["training"]["global_batch_size"] = 120;  // every image in one step
  Trial trial(world, config);
  EXPECT_EQ(trial.workload().train(1).samples, 119);
  std::int64_t skipped = trial.count(telemetry::Counter::kSkippedSamples);
  world.allreduce_sum(std::span<std::int64_t>(&skipped, 1));
  EXPECT_GE(skipped, 1);  // decoders prefetch into the next epoch
}

TEST(ResNet50Workload, RefusesCountsAndClassesThatAreNotTheData) {
  const runner::Communicator world = runner::Communicator::world();
  const SharedImages images(world);
  nlohmann::json config = config_of(images, "stream");
  config["model"]["classes"] = 2;
  EXPECT_THROW(Trial(world, config), base::DataError);
  config = config_of(images, "stream");
  config["dataset"]["train_samples"] = 121;
  EXPECT_THROW(Trial(world, config), base::DataError);
}

TEST(ResNet50Workload, TouchesNoFileBeforeStagingWhenCountsAreGiven) {
  const runner::Communicator world = runner::Communicator::world();
  nlohmann::json config = config_of(SharedImages(world), "stream");  // already deleted
  config["dataset"]["train_samples"] = 120;
  config["dataset"]["validation_samples"] = 21;
  const base::ObjectReader reader(config, "test.json");
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  const runner::Topology topology = runner::discover_topology(world);
  const auto workload = resnet50::make_workload(runner::parse_run_config(reader, "test.json"),
                                                {world, topology, telemetry, 1});
  workload->open_data();
  workload->initialize();
  EXPECT_EQ(workload->info().train_samples, 120);
  EXPECT_THROW(workload->stage(), base::Error);
}

}  // namespace
