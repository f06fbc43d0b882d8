// What is sent, as the communicator counts it, beside what was planned: for random layers.
// Source: acceptance A5.4 follows Sridharan et al., arXiv:1801.08030.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runner/base/random.h"
#include "runner/base/system_facts.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/optimizer/parameter_memory.h"
#include "workloads/parallel/split_layers/planner.h"
#include "workloads/parallel/split_layers/split_model.h"

namespace {

using parallel::Chain;
using parallel::ChainDistribution;
using parallel::ChainLayer;
using Kind = ChainLayer::Kind;

/// A layer of random size in front of a small one.
Chain random_chain(base::RandomStream& stream) {
  const auto between = [&](double low, double high) {
    return static_cast<std::int64_t>(low * std::pow(high / low, stream.uniform()));
  };
  if (stream.uniform() < 0.6)
    return parallel::perceptron({64 * between(5, 32), 64 * between(5, 32), 64});
  return {{16 * between(6, 16), {4, 4}},
          {{Kind::kConvolution, "conv", 16 * between(6, 16), 3, 1, 1, true},
           {Kind::kAveragePool, "mean"},
           {Kind::kFullyConnected, "fc", 64}}};
}

/// Bytes that all ranks together send in a step, each as if it had a node of its own.
std::int64_t measured_bytes(const Chain& chain, const ChainDistribution& distribution,
                            std::int64_t batch) {
  const runner::Communicator world = runner::Communicator::world();
  const runner::Communicator apart = world.split(world.rank(), 0);
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  const runner::Accounting accounting = world.account_to(telemetry);
  parallel::DataParallelConfig config;
  config.global_batch = batch;
  config.instruction_set = base::usable_instruction_set();
  parallel::SplitModel model(
      chain, distribution, config, [] { return nn::make_sgd({}); }, world, apart, telemetry);
  model.initialize(1);
  const std::int64_t before = telemetry.count(telemetry::Counter::kBytesSent);
  model.step([](parallel::Range, std::span<float> values) { std::ranges::fill(values, 0.5F); },
             [](parallel::Range, std::span<const float>, std::span<float> gradient) {
               std::ranges::fill(gradient, 0.5F);
             },
             0.1);
  model.finish_update();
  std::int64_t sent = telemetry.count(telemetry::Counter::kBytesSent) - before;
  world.allreduce_sum(std::span(&sent, 1));
  return sent;
}

TEST(PlannedLayers, SendTheFewestBytesOfAllGroupsForNineOfTenRandomLayers) {
  const runner::Communicator world = runner::Communicator::world();
  base::RandomStream stream(11, base::Purpose::kGenerate, 0, 0);
  constexpr int kChains = 20;
  int best = 0, split = 0;
  for (int i = 0; i < kChains; ++i) {
    const Chain chain = random_chain(stream);
    const auto batch = static_cast<std::int64_t>(
        4.0 * std::pow(chain.input.spatial.empty() ? 1500.0 : 100.0, stream.uniform()));
    const parallel::SplitPlan plan = parallel::plan_layers(chain, batch, world.size());
    const std::int64_t planned = measured_bytes(chain, plan.distribution, batch);
    // Gradients travel with the gaps behind tensors, most of a unit behind each of two biases.
    constexpr double kGaps = 2.0 * 4.0 * nn::kTensorAlignment;
    EXPECT_NEAR(static_cast<double>(planned), static_cast<double>(plan.communication.total()),
                0.1 * static_cast<double>(planned) + 2.0 * (world.size() - 1) * kGaps);
    std::int64_t least = planned;
    for (const int group : {1, 2, 4}) {
      const ChainDistribution other = parallel::distribution_by(chain, batch, world.size(), group);
      least = std::min(least, measured_bytes(chain, other, batch));
    }
    best += planned == least ? 1 : 0;
    split += plan.distribution.layers.front().splits_features ? 1 : 0;
  }
  EXPECT_GE(best, kChains * 9 / 10);
  EXPECT_GT(split, kChains / 10);  // both kinds of layers are among them
  EXPECT_LT(split, kChains * 9 / 10);
  RecordProperty("planned_best", best);
}

}  // namespace
