// Tests of the order of a training bench's calls, and of its report.
#include "workloads/parallel/training_bench.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <nlohmann/json.hpp>

#include "runner/base/clock.h"
#include "runner/base/system_facts.h"
#include "runner/base/thrown_message.h"
#include "workloads/nn/network.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/parallel/data_parallel.h"
#include "workloads/parallel/replica_bench.h"

namespace parallel {
namespace {

using nlohmann::json;

nn::Network one_layer() {
  nn::Network network;
  nn::FullyConnectedSpec spec;
  spec.name = "fc";
  spec.outputs = 8;
  (void)network.fully_connected(network.input({8, {}}), spec);
  return network;
}

class TrainingBenchOnRanks : public testing::Test {
 protected:
  TrainingBenchOnRanks() {
    options_.batch = 4;
    options_.steps = 3;
    options_.warmup_steps = 2;
    options_.limit_repetitions = 0;
    DataParallelConfig config;
    config.global_batch = options_.batch * world_.size();
    config.instruction_set = base::usable_instruction_set();
    trainer_ = std::make_unique<DataParallel>(network_, config, world_, topology_.node, telemetry_);
    trainer_->initialize(1, *optimizer_);
  }
  /// Runs a bench whose steps have the losses 1, 2, ...
  json report(const json& facts) {
    TrainingBench bench(trainer_->executor(), options_, around_);
    bench.run([this] {
      trainer_->step([](std::int64_t) {}, [](std::int64_t) {}, *optimizer_, 0.0);
      return static_cast<double>(++steps_);
    });
    return bench.report("toy", facts);
  }

  const runner::Communicator world_ = runner::Communicator::world();
  const runner::Topology topology_ = runner::discover_topology(world_);
  const base::SystemClock clock_;
  telemetry::Telemetry telemetry_{clock_};
  const runner::Accounting accounting_ = world_.account_to(telemetry_);
  const runner::Surroundings around_{world_, topology_, telemetry_, 1};
  const nn::Network network_ = one_layer();
  const std::unique_ptr<nn::Optimizer> optimizer_ = nn::make_sgd({});
  TrainingOptions options_;
  std::unique_ptr<DataParallel> trainer_;
  int steps_ = 0;
};

TEST_F(TrainingBenchOnRanks, TimesTheStepsBehindTheWarmUp) {
  const json result = report(json::object());
  EXPECT_EQ(steps_, 5);
  EXPECT_EQ(result["step_s"]["times"].size(), 3U);
  EXPECT_EQ(result["workload"], "toy");
  EXPECT_EQ(result["batch_per_rank"], 4);
  EXPECT_EQ(result["precision"], "f32");
  EXPECT_EQ(result["steps"], 3);
  EXPECT_EQ(result["warmup_steps"], 2);
  EXPECT_EQ(result["parameters"], network_.parameter_count());
  EXPECT_DOUBLE_EQ(result["mean_loss"].get<double>(), 5.0 / 4.0);
  EXPECT_DOUBLE_EQ(result["samples_per_s"].get<double>(),
                   4.0 * world_.size() / result["step_s"]["median"].get<double>());
  EXPECT_FALSE(result.contains("limit_samples_per_s"));
  EXPECT_FALSE(result.contains("layers"));
}

TEST_F(TrainingBenchOnRanks, LetsAWorkloadAddAndReplaceFacts) {
  const json usual = report(json::object());
  const json result = report({{"parameters", 7},
                              {"size", 8},
                              {"memory_bytes", {{"tables", 9}}},
                              {"definitions", {{"flops_per_sample", "its own"}}}});
  EXPECT_EQ(result["parameters"], 7);
  EXPECT_EQ(result["size"], 8);
  json memory = usual["memory_bytes"], definitions = usual["definitions"];
  memory["tables"] = 9;
  definitions["flops_per_sample"] = "its own";
  EXPECT_EQ(result["memory_bytes"], memory);
  EXPECT_EQ(result["definitions"], definitions);
}

TEST_F(TrainingBenchOnRanks, TellsLimitAndLayersWhereAsked) {
  options_.limit_repetitions = 4;
  options_.layers = true;
  const json result = report(json::object());
  EXPECT_GE(result["limit_repetitions"], 4);
  EXPECT_EQ(result["layers"].size(), 1U);
}

struct OwnOptions : TrainingOptions {
  double loss = 1.0;
};

/// A bench whose loss is an option of the workload.
class OneLayerBench final : public ReplicaBench {
 public:
  static constexpr std::int64_t kUsualBatch = 6;
  OneLayerBench(const OwnOptions& options, const runner::Surroundings& around)
      : ReplicaBench(one_layer(), training_of("bench toy", options, around.world.size()),
                     nn::make_sgd({}), 0.0, options.seed, around),
        options_(options) {}
  json facts(TrainingBench&) override { return {{"loads", loads_}, {"seed", options_.seed}}; }

 private:
  void load() override { ++loads_; }
  double learn() override { return options_.loss; }

  const OwnOptions& options_;
  int loads_ = 0;
};

class OneLayerBenchOnRanks : public TrainingBenchOnRanks {
 protected:
  json run() { return bench_of<OneLayerBench>("toy", own_)(usual_, around_); }
  const std::shared_ptr<OwnOptions> own_ = std::make_shared<OwnOptions>();
  runner::BenchOptions usual_{.limit_repetitions = 0};
};

TEST_F(OneLayerBenchOnRanks, TakesTheUsualBatchWhereNoneIsAskedFor) {
  EXPECT_EQ(run()["batch_per_rank"], 6);
  EXPECT_EQ(omp_get_max_threads(), around_.threads);
  usual_.batch = 5;
  EXPECT_EQ(run()["batch_per_rank"], 5);
}

TEST_F(OneLayerBenchOnRanks, HasTheOptionsOfEveryWorkloadAndItsOwn) {
  const runner::Bench bench = bench_of<OneLayerBench>("toy", own_);
  own_->loss = 12.0;  // as parsing does
  usual_.steps = 4;
  usual_.seed = 9;
  const json result = bench(usual_, around_);
  EXPECT_EQ(result["workload"], "toy");
  EXPECT_EQ(result["steps"], 4);
  EXPECT_EQ(result["seed"], 9);
  EXPECT_EQ(result["loads"], usual_.warmup_steps + usual_.steps);
  EXPECT_DOUBLE_EQ(result["mean_loss"].get<double>(), 12.0 / 6.0);
}

TEST_F(OneLayerBenchOnRanks, NamesTheOptionThatItDoesNotTake) {
  usual_.products = "integers";
  EXPECT_EQ(base::thrown_message<base::ConfigError>([this] { run(); }),
            "bench toy: --products: expected one of auto, pairs, floats, got integers");
}

}  // namespace
}  // namespace parallel
