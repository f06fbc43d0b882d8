// Weights, costs and memory of a replica.
#include "workloads/parallel/replica.h"

#include <fmt/format.h>
#include <omp.h>

#include <map>
#include <optional>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "runner/base/state.h"
#include "workloads/parallel/divided_state.h"
#include "workloads/parallel/gradient_volume.h"

namespace parallel {

void write_parameters(runner::StateWriter* writer, const nn::Executor& executor) {
  if (writer == nullptr) return;
  const auto& specs = executor.network().parameters();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    writer->write(specs[i].name, specs[i].shape,
                  executor.parameters().read_weights(static_cast<int>(i)));
  }
}

void read_parameters(const runner::StateReader& reader, nn::Executor& executor,
                     std::set<std::string>& known) {
  const auto& specs = executor.network().parameters();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    executor.parameters().write_weights(static_cast<int>(i),
                                        reader.read(specs[i].name, specs[i].shape));
    known.insert(specs[i].name);
  }
  executor.parameters().publish();
}

void write_statistics(runner::StateWriter* writer, const nn::Executor& executor) {
  if (writer == nullptr) return;
  const auto& specs = executor.network().statistics();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto mean = executor.statistics().mean(static_cast<int>(i));
    const auto variance = executor.statistics().variance(static_cast<int>(i));
    writer->write(specs[i].name + ".running_mean", {specs[i].channels},
                  std::vector<float>(mean.begin(), mean.end()));
    writer->write(specs[i].name + ".running_var", {specs[i].channels},
                  std::vector<float>(variance.begin(), variance.end()));
  }
}

void read_statistics(const runner::StateReader& reader, nn::Executor& executor,
                     std::set<std::string>& known) {
  const auto& specs = executor.network().statistics();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    executor.statistics().set(static_cast<int>(i),
                              reader.read(specs[i].name + ".running_mean", {specs[i].channels}),
                              reader.read(specs[i].name + ".running_var", {specs[i].channels}));
    // PyTorch also saves its count of batches, which is not used here.
    for (const char* member : {".running_mean", ".running_var", ".num_batches_tracked"}) {
      known.insert(specs[i].name + member);
    }
  }
}

void refuse_unknown(const runner::StateReader& reader, const std::set<std::string>& known) {
  for (const std::string& name : reader.names()) {
    if (known.count(name) == 0 && !name.starts_with(base::kResumeGroup)) {
      throw base::DataError(fmt::format("weights: {}: this model has no such array", name));
    }
  }
}

runner::StepCost step_cost(const nn::Network& network, std::int64_t samples) {
  std::int64_t macs = 0;
  for (const nn::Operation& operation : network.operations()) {
    macs += network.training_macs(operation);
  }
  return {samples, 2 * macs * samples,
          network.parameter_count() * static_cast<std::int64_t>(sizeof(float))};
}

std::int64_t samples_ahead(const ReadKeys& keys, const DataParallelConfig& training,
                           const runner::PlannedRank& place) {
  const BatchSplit split = split_batch(training, place.ranks);
  return (keys.prefetch_batches + 1) * split.slices[static_cast<std::size_t>(place.rank)].count;
}

namespace {

/// What sending gradients between nodes takes: buffers, and what error feedback keeps.
void add_sums_between_nodes(const GradientTravel& travel, std::int64_t gradient_bytes,
                            const runner::PlannedRank& place, runner::MemoryNeeds::Parts& rank) {
  const std::int64_t nodes = place.ranks / place.node_ranks;
  if (nodes <= 1) return;
  constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
  const std::int64_t largest = std::max(kLargestPieceFloats, travel.piece_floats);
  // Large pieces may leave some ranks of a node without any.
  const std::int64_t summed = std::min(
      gradient_bytes, std::max(gradient_bytes / place.node_ranks, travel.piece_floats * kFloat));
  const std::int64_t floats = summed / kFloat;
  if (travel.keeps_rest()) rank["gradients that were left out"] = summed;
  std::int64_t& sums = rank["sums between nodes"];
  if (travel.divided_update) {
    // What arrives for the own shards of pieces under way, and the own shards of a gather.
    const std::int64_t piece = base::round_up(largest, nodes * nn::kUpdateCell) * kFloat;
    sums = std::min(summed, static_cast<std::int64_t>(kShardsAtOnce) * piece);
  } else if (travel.is_exact()) {
    // What others send of the node's own parts (runner::DirectSum).
    sums = summed * (nodes - 1) / nodes;
  } else if (travel.payload == GradientPayload::kTopK) {
    // Values sent and received, and what the search of a piece keeps of it: magnitudes and places.
    sums = (1 + nodes) * top_k_of(travel.density, floats) * kSparseValueBytes +
           3 * std::min(summed, 4 * largest);
  } else {
    sums = 2 * narrow_bytes(travel.payload, floats) * (nodes - 1) / nodes;  // sent and received
  }
}

/// The executor of a rank, which takes no memory.
struct Plan {
  Plan(const nn::Network& network, const DataParallelConfig& training,
       const runner::PlannedRank& place) {
    omp_set_num_threads(place.threads);
    nn::ExecutorOptions options =
        executor_options(training, split_batch(training, place.ranks), place.rank);
    options.plan_only = true;
    executor.emplace(network, options, device, nullptr);
  }
  nn::Device device;
  std::optional<nn::Executor> executor;
};

}  // namespace

std::int64_t gradient_floats(const nn::Network& network, const DataParallelConfig& training,
                             const runner::PlannedRank& place) {
  return Plan(network, training, place).executor->gradient_floats();
}

runner::MemoryNeeds memory_needs(const nn::Network& network, const DataParallelConfig& training,
                                 const runner::PlannedRank& place, const nn::Optimizer& optimizer) {
  const Plan plan(network, training, place);
  const std::map<std::string, std::int64_t> bytes = plan.executor->memory_bytes();
  const nn::Executor::MemoryPeak peak = plan.executor->memory_peak();
  const std::int64_t weights = bytes.at("weights");
  const auto copies = bytes.find("weights in other layouts");
  runner::MemoryNeeds::Parts rank = {
      {"activations and scratch", bytes.at("activations and scratch")},
      {"gradients", bytes.at("gradients")}};
  // Nodes that divide updates divide the optimizer's state, too.
  const std::int64_t sharers =
      training.gradients.divided_update ? place.ranks / place.node_ranks : 1;
  add_sums_between_nodes(training.gradients, bytes.at("gradients"), place, rank);
  if (sharers > 1) {
    rank["optimizer state on its way to files"] =
        gathered_state_bytes(network, optimizer.buffers(), place.ranks);
  }
  return {rank,
          {{"weights", weights},
           {"weights in other layouts", copies == bytes.end() ? 0 : copies->second},
           {"optimizer state", optimizer.buffers() * weights / sharers}},
          peak.at,
          peak.bytes};
}

}  // namespace parallel
