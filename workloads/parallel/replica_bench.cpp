// The bench of a model that is replicated on every rank.
#include "workloads/parallel/replica_bench.h"

#include <utility>

namespace parallel {

ReplicaBench::ReplicaBench(nn::Network network, const DataParallelConfig& training,
                           std::unique_ptr<nn::Optimizer> optimizer, double learning_rate,
                           std::uint64_t seed, const runner::Surroundings& around)
    : around_(around),
      network_(std::move(network)),
      optimizer_(std::move(optimizer)),
      learning_rate_(learning_rate),
      trainer_(network_, training, around.world, around.topology.node, around.telemetry) {
  trainer_.initialize(seed, *optimizer_);
}

double ReplicaBench::step() {
  double loss = 0.0;
  trainer_.step(
      [this](std::int64_t) {
        const telemetry::Scope scope(around_.telemetry, telemetry::Subsystem::kInput);
        load();
      },
      [&](std::int64_t) { loss = learn(); }, *optimizer_, learning_rate_);
  return loss;
}

}  // namespace parallel
