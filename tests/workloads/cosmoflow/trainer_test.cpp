// Tests of loading batches into the network, and of the bytes that ranks sharing samples exchange.
#include "workloads/cosmoflow/trainer.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "runner/base/random.h"
#include "runner/base/system_facts.h"
#include "workloads/cosmoflow/model.h"
#include "workloads/cosmoflow/split_plan.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/parallel/group_volumes.h"

namespace {

using cosmoflow::Config;
using cosmoflow::Split;
using cosmoflow::UniverseBatch;
using cosmoflow::UniverseSample;
using nlohmann::json;

constexpr std::int64_t kSize = 16, kChannels = 4;

Config config_of(std::int64_t batch, const Split& split, const char* precision) {
  const json object = {{"epochs", 1},
                       {"dataset", {{"train", "a"}, {"validation", "b"}}},
                       {"model", {{"size", kSize}, {"channels", {16, 32}}, {"dense", {24, 8}}}},
                       {"training",
                        {{"global_batch_size", batch},
                         {"precision", precision},
                         {"sample_split", {{"depth", split.depth}, {"height", split.height}}}}}};
  return cosmoflow::parse_config(base::ObjectReader(object, "test.json"));
}

/// A part of a sample.
UniverseSample sample_of(std::int64_t index, const Split& split) {
  base::RandomStream random(5, base::Purpose::kGenerate, 0, static_cast<std::uint64_t>(index));
  UniverseSample sample;
  sample.index = index;
  sample.universe.extents = {kSize / split.depth, kSize / split.height, kSize};
  sample.universe.channels = kChannels;
  sample.universe.counts.resize(
      static_cast<std::size_t>(kSize * kSize * kSize * kChannels / split.parts()));
  for (std::int16_t& count : sample.universe.counts) {
    count = static_cast<std::int16_t>(random.below(4));
  }
  for (float& target : sample.universe.targets) target = static_cast<float>(random.uniform());
  return sample;
}

std::vector<const char*> precisions() {
  std::vector<const char*> all = {"f32"};
  if (base::usable_instruction_set() >= base::InstructionSet::kAvx512Bf16) all.push_back("bf16");
  return all;
}

/// The replica of this rank.
class Replica {
 public:
  Replica(const runner::Communicator& world, const Config& config)
      : config_(config),
        telemetry_(clock_),
        topology_(runner::discover_topology(world)),
        volumes_(world, config.split.depth, config.split.height, telemetry_) {
    parallel::DataParallelConfig training = data_parallel_config(config);
    training.volumes = &volumes_;
    model_ = std::make_unique<parallel::DataParallel>(build_network(config.model, config.split),
                                                      training, world, topology_.node, telemetry_);
    optimizer_ = nn::make_sgd({});
    model_->initialize(3, *optimizer_);
    for (std::int64_t i = 0; i < model_->local_batch(); ++i) {
      batch_.push_back(sample_of(i, config.split));
    }
  }
  void step() {
    telemetry_.begin_step();
    std::vector<float> targets;
    model_->step(
        [&](std::int64_t) { targets = load_batch(batch_, true, 7, 0, model_->executor()); },
        [&](std::int64_t) {
          nn::Executor& executor = model_->executor();
          nn::squared_error(executor.outputs(), targets, cosmoflow::kTargets, 1.0,
                            executor.output_gradient());
        },
        *optimizer_, 0.001);
    telemetry_.end_step();
  }
  telemetry::Telemetry& telemetry() { return telemetry_; }
  parallel::GroupVolumes& volumes() { return volumes_; }
  std::int64_t samples() const { return model_->local_batch(); }
  /// Bytes sent to neighbours since the last call.
  std::int64_t take_bytes() { return volumes_.take_bytes(); }

 private:
  const Config config_;
  base::SystemClock clock_;
  telemetry::Telemetry telemetry_;
  runner::Topology topology_;
  parallel::GroupVolumes volumes_;
  std::unique_ptr<parallel::DataParallel> model_;
  std::unique_ptr<nn::Optimizer> optimizer_;
  UniverseBatch batch_;
};

std::vector<Split> splits_of(int ranks) {
  std::vector<Split> splits;
  for (const std::int64_t depth : {1, 2, 4, 8}) {
    for (const std::int64_t height : {1, 2, 4, 8}) {
      if (ranks % (depth * height) == 0) splits.push_back({depth, height});
    }
  }
  return splits;
}

TEST(SharedSamples, GiveNeighboursTheBytesThatArePlanned) {
  const runner::Communicator world = runner::Communicator::world();
  for (const Split& split : splits_of(world.size())) {
    for (const char* precision : precisions()) {
      SCOPED_TRACE(std::to_string(split.depth) + " x " + std::to_string(split.height) + " in " +
                   precision);
      const std::int64_t groups = world.size() / split.parts();
      const Config config = config_of(3 * groups, split, precision);
      Replica replica(world, config);
      ASSERT_EQ(replica.samples(), 3);
      for (int step = 0; step < 2; ++step) {
        replica.step();
        EXPECT_EQ(world.allreduce_max(replica.take_bytes()), 3 * margin_bytes(config, split));
      }
    }
  }
}

/// Of each kind of exchange of split samples in a trace: how many there were, and their bytes.
std::map<std::string, std::pair<std::int64_t, std::int64_t>> exchanges_in(
    const telemetry::Trace& trace) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> found;
  for (const telemetry::TransferTimes& times : trace.transfers()) {
    const bool is_of_sums = times.name.starts_with("MPI_") || times.name.starts_with("gradients");
    if (!is_of_sums) found[times.name] = {times.count, times.bytes};
  }
  return found;
}

TEST(SharedSamples, RepeatTheExchangesOfAStepAlone) {
  const runner::Communicator world = runner::Communicator::world();
  const Split split = {world.size(), 1};
  telemetry::Trace trace({2, 2}), alone({1, 1});
  Replica replica(world, config_of(1, split, "f32"));
  replica.telemetry().trace_to(trace);
  for (int step = 0; step < 3; ++step) replica.step();
  replica.telemetry().trace_to(alone);
  alone.begin_step(1, replica.telemetry().now_ns());
  replica.volumes().exchange_alone();
  alone.end_step(replica.telemetry().now_ns());
  EXPECT_EQ(exchanges_in(trace).empty(), world.size() == 1);
  EXPECT_EQ(exchanges_in(alone), exchanges_in(trace));
}

/// Empty slots are 0, including their margins.
TEST(LoadBatch, FillsSlotsWithoutASampleWithZeros) {
  const Config config = config_of(3, {}, "f32");
  nn::Device device;
  nn::ExecutorOptions options;
  options.batch = 3;
  nn::Executor executor(build_network(config.model), options, device, nullptr);
  UniverseBatch batch = {sample_of(4, {}), sample_of(9, {}), sample_of(2, {})};
  load_batch(batch, true, 1, 0, executor);
  batch[1].index = batch[2].index = -1;
  const std::vector<float> targets = load_batch(batch, true, 1, 0, executor);
  const auto& expected = batch[0].universe.targets;
  EXPECT_EQ(targets, std::vector<float>(expected.begin(), expected.end()));
  const std::span<const float> input = executor.input<float>(0);
  const std::size_t size = input.size() / 3;
  std::vector<float> first(size);
  cosmoflow::widen<float>(batch[0], true, first);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), input.begin()));
  for (std::size_t i = size; i < input.size(); ++i) ASSERT_EQ(input[i], 0.0F) << i;
}

TEST(DataParallelConfig, IsTheConfigurations) {
  json object = {{"epochs", 1},
                 {"dataset", {{"train", "a"}, {"validation", "b"}}},
                 {"training",
                  {{"global_batch_size", 12},
                   {"gradient_accumulation_steps", 3},
                   {"sample_split", {{"depth", 2}, {"height", 4}}}}}};
  const parallel::DataParallelConfig config =
      data_parallel_config(cosmoflow::parse_config(base::ObjectReader(object, "test.json")));
  EXPECT_EQ(config.global_batch, 12);
  EXPECT_EQ(config.accumulation, 3);
  EXPECT_EQ(config.ranks_per_sample, 8);
  EXPECT_EQ(config.arithmetic.precision, nn::Precision::kF32);
  EXPECT_EQ(config.instruction_set, base::usable_instruction_set());
}

}  // namespace
