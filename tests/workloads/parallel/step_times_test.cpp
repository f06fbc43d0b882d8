// Tests of the breakdown of a bench's steps when other work is done between the steps.
#include "workloads/parallel/step_times.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runner/base/fake_clock.h"
#include "runner/base/system_facts.h"
#include "workloads/nn/network.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/parallel/data_parallel.h"
#include "workloads/parallel/layer_bench.h"

namespace parallel {
namespace {

using nlohmann::json;
using telemetry::Scope;
using telemetry::Subsystem;

constexpr std::int64_t kMs = 1'000'000;

double sum_of(const json& parts) {
  double sum = 0.0;
  for (const auto& [name, seconds] : parts.items()) sum += seconds.get<double>();
  return sum;
}

class StepTimesOnRanks : public testing::Test {
 protected:
  runner::Communicator world_ = runner::Communicator::world();
  runner::Topology topology_ = runner::discover_topology(world_);
};

TEST_F(StepTimesOnRanks, CountWhatIsWithinTheStepsAlone) {
  base::FakeClock clock;
  telemetry::Telemetry telemetry(clock);
  const runner::Accounting accounting = world_.account_to(telemetry);
  const runner::Surroundings around{world_, topology_, telemetry, 1};
  const auto spend = [&](Subsystem subsystem, std::int64_t ms) {
    const Scope scope(telemetry, subsystem);
    clock.nanoseconds += ms * kMs;
  };
  StepTimes times(around);
  times.begin();
  for (const std::int64_t ms : {3, 5}) {
    times.time([&] {
      spend(Subsystem::kForward, ms);
      spend(Subsystem::kExchange, 1);
      clock.nanoseconds += 2 * kMs;
    });
    spend(Subsystem::kForward, 100);  // as measuring a limit does
    spend(Subsystem::kExchange, 100);
    clock.nanoseconds += 100 * kMs;
  }
  json result = {{"definitions", json::object()}};
  times.add_to(result);
  const json& parts = result["breakdown_s_per_step"];
  EXPECT_EQ(parts.size(), std::size_t{telemetry::kSubsystemCount});
  EXPECT_NEAR(parts["forward"].get<double>(), 0.004, 1e-9);
  EXPECT_NEAR(parts["exchange"].get<double>(), 0.001, 1e-9);
  EXPECT_NEAR(parts["other"].get<double>(), 0.002, 1e-9);
  EXPECT_NEAR(sum_of(parts), 0.007, 1e-9);
  EXPECT_NEAR(result["step_s"]["mean"].get<double>(), 0.007, 1e-9);
}

TEST_F(StepTimesOnRanks, AddUpToAStepBesideAMeasuredLimit) {
  nn::Network network;
  nn::FullyConnectedSpec spec;
  spec.name = "fc";
  spec.outputs = 64;
  (void)network.fully_connected(network.input({64, {}}), spec);
  DataParallelConfig config;
  config.global_batch = 8 * world_.size();
  config.instruction_set = base::usable_instruction_set();
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  const runner::Accounting accounting = world_.account_to(telemetry);
  const runner::Surroundings around{world_, topology_, telemetry, 1};
  runner::BenchOptions options;
  options.limit_repetitions = 50;
  options.steps = 20;
  DataParallel trainer(network, config, world_, topology_.node, telemetry);
  const auto optimizer = nn::make_sgd({});
  trainer.initialize(1, *optimizer);
  LayerBench layers(network, 8, nn::Precision::kF32, options, world_);
  StepTimes times(around);
  times.begin();
  for (std::int64_t i = 0; i < options.steps; ++i) {
    times.time([&] { trainer.step([](std::int64_t) {}, [](std::int64_t) {}, *optimizer, 0.0); });
    layers.measure();
  }
  json result = {{"definitions", json::object()}};
  const double own_mean_s = telemetry.to_json()["step_s"]["mean"].get<double>();
  times.add_to(result);
  layers.finish(trainer.executor(), 1.0, result);
  EXPECT_EQ(result["limit_repetitions"], 50);
  // The two differ by the time of reading the clock.
  EXPECT_NEAR(sum_of(result["breakdown_s_per_step"]), own_mean_s, 0.02 * own_mean_s + 2e-5);
  EXPECT_LE(own_mean_s, result["step_s"]["mean"].get<double>() * (1.0 + 1e-9));
}

}  // namespace
}  // namespace parallel
