// Tests of training and evaluation of a replicated model: calls of the workload's hooks, and
// counts.
#include "workloads/parallel/replica_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runner/base/system_facts.h"
#include "runner/mllog/keys.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/parallel/gather_outputs.h"
#include "workloads/parallel/replica.h"

namespace parallel {
namespace {

constexpr std::int64_t kTrain = 50, kValidation = 13, kBatch = 12;

/// A dataset of `samples` samples of one byte each.
class Counted final : public dataset::Dataset {
 public:
  explicit Counted(std::int64_t samples) : samples_(samples) {}
  std::int64_t size() const override { return samples_; }
  const std::vector<std::string>& class_names() const override { return names_; }
  std::int32_t label(std::int64_t /*index*/) const override { return 0; }
  std::int64_t bytes(std::int64_t /*index*/) const override { return 1; }
  void read(std::int64_t /*index*/, std::vector<std::byte>& out) const override {
    out.assign(1, std::byte{0});
  }
  std::string name(std::int64_t index) const override { return std::to_string(index); }
  std::string source() const override { return "memory"; }

 private:
  const std::int64_t samples_;
  const std::vector<std::string> names_ = {""};
};

TrainingSetup one_layer() {
  nn::Network network;
  nn::FullyConnectedSpec spec;
  spec.name = "fc";
  spec.outputs = 2;
  (void)network.fully_connected(network.input({2, {}}), spec);
  DataParallelConfig training;
  training.global_batch = kBatch;
  training.accumulation = 2;
  training.instruction_set = base::usable_instruction_set();
  return {network, training, nn::make_sgd({}), [](const runner::WorkloadInfo& /*counted*/) {
            nn::ScheduleConfig schedule;
            schedule.peak = 100.0;
            schedule.warmup.length = 100;
            return nn::Schedule(schedule);
          }};
}

/// A workload that learns nothing: each sample has a loss of 2, and quality 1 out of 2 counts. The
/// learning rate is the number of updates done.
class Toy final : public ReplicaWorkload {
 public:
  Toy(const std::shared_ptr<SampleSets>& sets, const runner::Surroundings& around)
      : ReplicaWorkload(
            {.name = "toy",
             .benchmark = "toy",
             .target = {mllog::keys::kEvalAccuracy, {{"", "", mllog::Direction::kRises, 1.0}}}},
            one_layer(), sets, 1, around) {}
  std::vector<std::pair<std::string, nlohmann::ordered_json>> log_fields() const override {
    return {};
  }
  std::vector<std::int64_t> first_steps;  ///< arguments of training_batches()
  int loads = 0;

 private:
  Load training_batches(std::int64_t first_step) override {
    first_steps.push_back(first_step);
    return evaluation_batches();
  }
  Load evaluation_batches() override {
    return [this] { ++loads; };
  }
  BatchSums learn() override {
    const std::span<float> gradient = executor().output_gradient();
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    return {.loss = 2.0 * static_cast<double>(executor().batch()), .samples = executor().batch()};
  }
  BatchSums judge(std::int64_t samples) override {
    return {.quality = static_cast<double>(samples), .counts = 2 * samples, .samples = samples};
  }
  void send_outputs(runner::OutputSink* sink, std::int64_t first, std::int64_t samples) override {
    const std::vector<std::int32_t> labels(static_cast<std::size_t>(samples));
    gather_outputs(around().world, sink, first, samples, 2, executor().outputs(), labels);
  }
};

class Seen final : public runner::OutputSink {
 public:
  void write(std::int64_t first, std::int64_t /*width*/, std::span<const float> /*outputs*/,
             std::span<const std::int32_t> labels) override {
    for (std::size_t i = 0; i < labels.size(); ++i) ++times.at(static_cast<std::size_t>(first) + i);
  }
  std::vector<int> times = std::vector<int>(kValidation);
};

class ReplicaWorkloadOnRanks : public testing::Test {
 protected:
  ReplicaWorkloadOnRanks() {
    SampleSetsConfig config;
    config.global_batch_size = kBatch;
    config.epochs = 3;
    config.staging.mode = staging::StagingMode::kStream;
    config.group = world_.rank();
    config.groups = world_.size();
    const auto sets = std::make_shared<SampleSets>(
        config,
        SampleSets::by_path("train", "validation",
                            [](const std::string& path) {
                              return std::make_shared<Counted>(path == "train" ? kTrain
                                                                               : kValidation);
                            }),
        world_, topology_, clock_);
    toy_ = std::make_unique<Toy>(sets, around_);
    toy_->open_data();
    toy_->initialize();
  }
  std::int64_t counted(telemetry::Counter counter) const {
    std::int64_t count = telemetry_.count(counter);
    world_.allreduce_sum(std::span<std::int64_t>(&count, 1));
    return count;
  }
  const runner::Communicator world_ = runner::Communicator::world();
  const runner::Topology topology_ = runner::discover_topology(world_);
  const base::SystemClock clock_;
  telemetry::Telemetry telemetry_{clock_};
  const runner::Accounting accounting_ = world_.account_to(telemetry_);
  const runner::Surroundings around_{world_, topology_, telemetry_, 1};
  std::unique_ptr<Toy> toy_;
};

TEST_F(ReplicaWorkloadOnRanks, KnowsWhatFollowsFromModelAndSamples) {
  EXPECT_EQ(toy_->info().global_batch_size, kBatch);
  EXPECT_EQ(toy_->info().gradient_accumulation_steps, 2);
  EXPECT_EQ(toy_->info().train_samples, kTrain);
  EXPECT_EQ(toy_->info().eval_samples, kValidation);
  EXPECT_EQ(toy_->info().steps_per_epoch, kTrain / kBatch);
  EXPECT_EQ(toy_->info().parameters, 6);
  EXPECT_THAT(toy_->log_tensor_names(), testing::ElementsAre("fc.weight", "fc.bias"));
}

TEST_F(ReplicaWorkloadOnRanks, TrainsPassByPass) {
  const runner::TrainResult result = toy_->train(3);
  EXPECT_EQ(toy_->loads, 6);
  EXPECT_EQ(result.samples, 3 * kBatch);
  EXPECT_DOUBLE_EQ(result.mean_loss, 2.0);
  EXPECT_DOUBLE_EQ(result.learning_rate, 2.0);
  EXPECT_EQ(counted(telemetry::Counter::kTrainSamples), 3 * kBatch);
  toy_->train(1);
  EXPECT_THAT(toy_->first_steps, testing::ElementsAre(0));
}

TEST_F(ReplicaWorkloadOnRanks, GivesEverySampleOnceToTheSink) {
  Seen seen;
  EXPECT_DOUBLE_EQ(toy_->evaluate(world_.rank() == 0 ? &seen : nullptr), 0.5);
  EXPECT_EQ(counted(telemetry::Counter::kEvalSamples), kValidation);
  if (world_.rank() != 0) return;
  EXPECT_THAT(seen.times, testing::Each(1));
}

TEST(SamplesAhead, AreOfTheBatchesAndOfTheOneBeingRead) {
  ReadKeys keys;
  keys.prefetch_batches = 3;
  DataParallelConfig training;
  training.global_batch = 20;
  training.accumulation = 2;
  EXPECT_EQ(samples_ahead(keys, training, {.rank = 0, .ranks = 3}), 4 * 4);
  EXPECT_EQ(samples_ahead(keys, training, {.rank = 2, .ranks = 3}), 4 * 3);
}

}  // namespace
}  // namespace parallel
