// Costs from a network and its batch.
#include "workloads/parallel/training_scale.h"

#include <algorithm>
#include <vector>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "staging/sample_order.h"
#include "workloads/parallel/gradient_volume.h"
#include "workloads/parallel/replica.h"

namespace parallel {
namespace {

/// Gradients leave during the last of a step's backward passes; floats whose update is late, also
/// during the next step's first forward pass.
double hiding_share(const GradientTravel& travel, double forward_share, std::int64_t accumulation) {
  const bool is_late = travel.late_update && travel.is_exact();
  return (is_late ? 1.0 : 1.0 - forward_share) / static_cast<double>(accumulation);
}

OwnerGrid grid_of(const runner::PlannedRank& place) {
  const std::int64_t nodes = base::ceil_div(place.ranks, place.node_ranks);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(nodes), place.node_ranks);
  sizes.back() = place.ranks - (nodes - 1) * place.node_ranks;
  return OwnerGrid::of(sizes);
}

}  // namespace

runner::TrainingScale training_scale(const nn::Network& network, const DataParallelConfig& training,
                                     const ReadKeys& keys, const runner::PlannedRank& place) {
  if (keys.train_samples == 0) {
    throw base::ConfigError(
        "/dataset/train_samples: expected the number of training samples, got none: --set "
        "dataset.train_samples=1281167");
  }
  const BatchSplit split = split_batch(training, place.ranks);
  const std::int64_t sharers = split.ranks_per_sample;
  const staging::SampleOrder order(keys.train_samples, training.global_batch, keys.shards, 0);
  const OwnerGrid grid = grid_of(place);
  std::int64_t most = 0;
  for (const nn::PassSlice& slice : split.slices) most = std::max(most, slice.count);

  runner::TrainingScale scale;
  scale.parameters = network.parameter_count();
  scale.train_samples = keys.train_samples;
  scale.global_batch = training.global_batch;
  scale.steps_per_epoch = order.steps_per_epoch();
  scale.forward_flops = 2 * network.forward_macs() * sharers;
  scale.training_flops = step_cost(network, 1).flops * sharers;
  scale.rank_samples =
      static_cast<double>(most * split.accumulation) / static_cast<double>(sharers);
  scale.nodes = grid.nodes;
  const std::int64_t floats = gradient_floats(network, training, place);
  scale.gradient_bytes = floats * nn::kFloatBytes;
  scale.gradients = node_traffic(training.gradients, floats, grid);
  scale.hiding_share = hiding_share(
      training.gradients,
      static_cast<double>(scale.forward_flops) / static_cast<double>(scale.training_flops),
      split.accumulation);
  scale.tries_pieces = training.gradients.tries_pieces && training.gradients.is_exact() &&
                       !training.gradients.divided_update && grid.nodes > 1;
  return scale;
}

}  // namespace parallel
