// Tests of the images of a run on any number of ranks: what is decoded once, and that it has no
// effect on a training.
#include "workloads/images/image_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "runner/base/split_evenly.h"
#include "workloads/resnet50/trial.h"

namespace resnet50 {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using telemetry::Counter;

constexpr std::int64_t kTrain = 120, kValidation = 21, kBatch = 48, kSteps = 2, kEpochs = 3;
/// Enough for every image: 32 x 32 pixels.
constexpr std::int64_t kAll = 5 * kTrain * (3 * 32 * 32 + 8);

/// What a training gives: losses and qualities, weights, and counts of this rank.
struct Given {
  std::vector<double> told;
  workload_trial::Arrays weights;
  std::int64_t read = 0, kept = 0, skipped = 0, flawed = 0;
  std::vector<std::string> remarks;
};

class ImageDataOnRanks : public testing::Test {
 protected:
  json config(std::int64_t cache_bytes) const {
    json config = config_of(images_, "stream");
    config["epochs"] = kEpochs;
    config["model"]["depth"] = 26;
    config["dataset"]["cache_bytes"] = cache_bytes;
    return config;
  }
  /// Trains to the end, so that nothing is prefetched in vain.
  Given train(const json& config) const {
    Trial trial(world_, config);
    Given given;
    for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
      const runner::TrainResult result = trial.workload().train(kSteps);
      given.told.push_back(result.mean_loss);
      given.told.push_back(static_cast<double>(result.samples));
      given.told.push_back(trial.workload().evaluate(nullptr));
    }
    given.weights = trial.weights();
    given.read = trial.count(Counter::kSamplesFromSource) + trial.count(Counter::kSamplesFromCopy);
    given.kept = trial.count(Counter::kSamplesFromMemory);
    given.skipped = trial.count(Counter::kSkippedSamples);
    given.flawed = trial.count(Counter::kFlawedSamples);
    given.remarks = trial.workload().take_remarks();
    trial.workload().clean_up();
    return given;
  }
  static void expect_same(const Given& given, const Given& expected) {
    EXPECT_EQ(given.told, expected.told);
    EXPECT_EQ(given.weights, expected.weights);
    EXPECT_EQ(given.skipped, expected.skipped);
    EXPECT_EQ(given.flawed, expected.flawed);
    EXPECT_EQ(given.remarks, expected.remarks);
    EXPECT_EQ(given.read + given.kept, expected.read);
  }
  std::int64_t validation_part() const {
    const auto [first, last] = base::split_evenly(kValidation, world_.size(), world_.rank());
    return last - first;
  }
  /// The training images that this rank draws, each once.
  std::int64_t drawn_images() const {
    const staging::SampleOrder order(kTrain, kBatch, 1, config(0)["seed"].get<std::uint64_t>());
    const std::int64_t slots = kBatch / world_.size();
    std::set<std::int64_t> drawn;
    for (std::int64_t step = 0; step < kEpochs * kSteps; ++step) {
      for (std::int64_t slot = 0; slot < slots; ++slot) {
        drawn.insert(order.index(step / kSteps, step % kSteps, world_.rank() * slots + slot));
      }
    }
    return std::ssize(drawn);
  }
  void change_on_rank_0(const fs::path& path, std::uintmax_t size) const {
    if (world_.rank() == 0) fs::resize_file(path, size);
    world_.barrier();
  }

  const runner::Communicator world_ = runner::Communicator::world();
  const SharedImages images_{world_};
};

TEST_F(ImageDataOnRanks, TrainOnKeptImagesToTheSameBits) {
  for (const char* style : {"mlperf", "cifar"}) {
    SCOPED_TRACE(style);
    const auto of_style = [&](std::int64_t cache_bytes) {
      json config = this->config(cache_bytes);
      config["dataset"]["preprocess"] = style;
      config["model"]["image_size"] = std::string(style) == "cifar" ? 32 : 24;
      return config;
    };
    const Given without = train(of_style(0));
    EXPECT_EQ(without.kept, 0);
    const Given all = train(of_style(kAll));
    expect_same(all, without);
    EXPECT_EQ(all.read, drawn_images() + validation_part()) << "each image is decoded once";
    json by_two = of_style(kAll / 48);
    by_two["dataset"]["decode_threads"] = 2;
    const Given some = train(by_two);
    expect_same(some, without);
    EXPECT_GT(some.read, all.read);
    EXPECT_GT(some.kept, 0);
  }
}

TEST_F(ImageDataOnRanks, KeepImagesOfCopies) {
  json config = this->config(0), keeping = this->config(kAll);
  for (json* one : {&config, &keeping}) (*one)["staging"]["mode"] = "full";
  const Given without = train(config), all = train(keeping);
  expect_same(all, without);
  EXPECT_EQ(all.read, drawn_images() + validation_part());
}

/// Tried again each time, but counted and told once, as without.
TEST_F(ImageDataOnRanks, KeepNoSkippedImageAndTellAFlawOnce) {
  const fs::path broken = images_.any_image("train"), flawed = images_.any_image("validation");
  const auto size = [&](const fs::path& path) {
    const auto found = fs::file_size(path);
    world_.barrier();
    return found;
  };
  change_on_rank_0(broken, size(broken) / 2);
  change_on_rank_0(flawed, size(flawed) - 2);  // without the end mark
  json config = this->config(0), keeping = this->config(kAll);
  for (json* one : {&config, &keeping}) (*one)["dataset"]["on_corrupt"] = "skip";
  const Given without = train(config), all = train(keeping);
  expect_same(all, without);
  const auto sum = [&](std::int64_t value) {
    world_.allreduce_sum(std::span<std::int64_t>(&value, 1));
    return value;
  };
  EXPECT_EQ(sum(all.flawed), 1);
  EXPECT_GE(sum(all.skipped), 1);
  EXPECT_EQ(sum(std::ssize(all.remarks)), 1);
}

}  // namespace
}  // namespace resnet50
