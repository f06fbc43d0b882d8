// A step over stages: each is a replica on the ranks that have the same part of its weights.
#include "workloads/parallel/split_layers/split_model.h"

#include <algorithm>
#include <utility>

#include "runner/base/error.h"

namespace parallel {
namespace {

using telemetry::Scope;
using telemetry::Subsystem;

std::size_t floats_of(const Share& share) { return static_cast<std::size_t>(share.count()); }

/// Collective. The same number on the ranks of a node, another one on every other node.
int node_number(const runner::Communicator& world, const runner::Communicator& node) {
  return static_cast<int>(node.allreduce_min(static_cast<std::int64_t>(world.rank())));
}

void require_supported(const ChainDistribution& distribution, const DataParallelConfig& config) {
  if (config.arithmetic.precision != nn::Precision::kF32) {
    throw base::ConfigError("precision: layers that ranks split compute in f32");
  }
  if (config.ranks_per_sample > 1 || config.volumes != nullptr) {
    throw base::ConfigError("ranks that split layers cannot split samples, too");
  }
  std::vector<Distribution> all = distribution.layers;
  all.push_back(distribution.loss);
  const bool are_alike = std::ranges::any_of(
      all, [](const Distribution& one) { return one.group > 1 && !one.splits_features; });
  // Each would round its own gradients, so that they would no longer be alike.
  if (are_alike && !config.gradients.is_exact()) {
    throw base::ConfigError("gradient_payload: expected f32 where ranks compute the same");
  }
}

/// Lets gradients and weights of other stages travel on while a stage computes.
class OthersProgress final : public nn::PassListener {
 public:
  explicit OthersProgress(std::vector<DataParallel*> others) : others_(std::move(others)) {}
  void weights_needed(std::int64_t /*first*/) override { progress(); }
  void gradients_ready(std::int64_t /*floats*/) override { progress(); }

 private:
  void progress() {
    for (DataParallel* const one : others_) one->progress();
  }
  std::vector<DataParallel*> others_;
};

}  // namespace

std::map<std::string, std::int64_t> memory_bytes(const Chain& chain,
                                                 const ChainDistribution& distribution,
                                                 const DataParallelConfig& config,
                                                 int state_buffers, int rank, int ranks) {
  constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
  const std::vector<Stage> stages = cut(chain, distribution, rank, ranks);
  std::map<std::string, std::int64_t> bytes;
  nn::Device device;
  for (const Stage& stage : stages) {
    const int replica = rank / stage.distribution.group;
    nn::ExecutorOptions options = executor_options(
        config, split_batch(config, stage.distribution.data_parts(ranks)), replica);
    options.plan_only = true;
    const nn::Executor executor(stage.network, options, device, nullptr);
    const std::map<std::string, std::int64_t> of_stage = executor.memory_bytes();
    for (const char* const purpose : {"weights", "gradients", "activations and scratch"}) {
      bytes[purpose] += of_stage.at(purpose);
    }
    const auto copies = of_stage.find("weights in other layouts");
    if (copies != of_stage.end()) bytes[copies->first] += copies->second;
    bytes["optimizer state"] += state_buffers * of_stage.at("weights");
    bytes["sums between nodes"] += of_stage.at("gradients");
    for (const ParameterPart& part : stage.parts) {
      // Drawn whole, and cut.
      std::int64_t& drawn = bytes["first weights"];
      drawn = std::max(drawn, 2 * part.whole.count() * kFloat);
    }
  }
  const std::int64_t samples = config.global_batch / config.accumulation;
  for (const ActivationEdge& edge : edges_of(stages, distribution.loss, samples)) {
    // What is sent and received both ways, of sums by each rank of a group, and the value itself.
    const auto me = static_cast<std::size_t>(rank);
    const int group = edge.has_partial_sums ? std::max(edge.from.group, edge.to.group) : 1;
    bytes["exchange of activations"] += (4 * made_shares(edge, ranks)[me].count() +
                                         2 * group * wanted_shares(edge, ranks)[me].count()) *
                                        kFloat;
  }
  return bytes;
}

/// A stage, and the ranks that it is shared with.
struct SplitModel::Part {
  Stage stage;
  runner::Communicator replicas;  ///< ranks with the same part of the weights
  runner::Communicator node;      ///< of these, the ones on this node
  runner::Communicator parts;     ///< ranks with the other parts
  std::unique_ptr<DataParallel> model;
  std::unique_ptr<nn::Optimizer> optimizer;
};

SplitModel::SplitModel(const Chain& chain, const ChainDistribution& distribution,
                       const DataParallelConfig& config, const MakeOptimizer& make_optimizer,
                       const runner::Communicator& world, const runner::Communicator& node,
                       telemetry::Telemetry& telemetry)
    : config_(config),
      telemetry_(telemetry),
      pass_samples_(config.global_batch / config.accumulation) {
  const int rank = world.rank();
  require_supported(distribution, config);
  const int number = node_number(world, node);
  std::vector<Stage> stages = cut(chain, distribution, rank, world.size());
  static_cast<void>(split_batch(config, distribution.loss.data_parts(world.size())));
  for (const ActivationEdge& edge : edges_of(stages, distribution.loss, pass_samples_)) {
    edges_.emplace_back(world, telemetry, edge);
  }
  for (Stage& stage : stages) {
    const int group = stage.distribution.group;
    runner::Communicator replicas = world.split(rank % group, rank);
    runner::Communicator on_node = replicas.split(number, rank);
    runner::Communicator others = world.split(rank / group, rank);
    Part& part = parts_.emplace_back(std::move(stage), std::move(replicas), std::move(on_node),
                                     std::move(others), nullptr, make_optimizer());
    if (part.optimizer->hyperparameters().max_gradient_norm > 0.0) {
      throw base::ConfigError(
          "max_gradient_norm: expected 0, as no rank has the gradients of all layers");
    }
    DataParallelConfig own = config;
    if (part.stage.distribution.splits_features) own.parts = &part.parts;
    part.model = std::make_unique<DataParallel>(part.stage.network, own, part.replicas, part.node,
                                                telemetry);
  }
  input_.resize(floats_of(edges_.front().made()));
  outputs_.resize(floats_of(edges_.back().wanted()));
  output_gradient_.resize(outputs_.size());
}

SplitModel::~SplitModel() = default;

void SplitModel::initialize(std::uint64_t seed) {
  for (Part& part : parts_) {
    part.model->initialize(seed, *part.optimizer);
    if (!part.stage.distribution.splits_features) continue;
    nn::Parameters& parameters = part.model->executor().parameters();
    for (std::size_t i = 0; i < part.stage.parts.size() && parameters.is_writer(); ++i) {
      const ParameterPart& of = part.stage.parts[i];
      parameters.write_weights(static_cast<nn::ParameterId>(i),
                               of.of(nn::initial_values(of.whole, seed)));
    }
    parameters.publish();
  }
}

Range SplitModel::slots(std::int64_t pass, const Share& share) const {
  return {pass * pass_samples_ + share.samples.begin, pass * pass_samples_ + share.samples.end};
}

void SplitModel::forward() {
  std::span<const float> made = input_;
  std::vector<float> outputs;
  std::vector<DataParallel*> behind;  // whose weights the last step may have left travelling
  for (auto part = std::next(parts_.begin()); part != parts_.end(); ++part) {
    behind.push_back(part->model.get());
  }
  auto edge = edges_.begin();
  for (Part& part : parts_) {
    nn::Executor& executor = part.model->executor();
    (edge++)->forward(made, executor.input());
    OthersProgress progress(behind);
    part.model->forward(&progress);
    if (!behind.empty()) behind.erase(behind.begin());
    outputs = executor.read_outputs();
    made = outputs;
  }
  edge->forward(made, outputs_);
}

void SplitModel::backward(std::int64_t pass) {
  std::span<const float> wanted = output_gradient_;
  std::vector<float> made;
  std::vector<DataParallel*> behind;
  auto edge = edges_.rbegin();
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part, ++edge) {
    made.resize(floats_of(edge->made()));
    edge->backward(wanted, made);
    DataParallel& model = *part->model;
    model.executor().write_output_gradient(made);
    OthersProgress progress(behind);
    model.backward(pass, &progress);
    behind.push_back(&model);
    if (std::next(part) != parts_.rend()) wanted = model.executor().input_gradient<float>(0);
  }
}

void SplitModel::step(const Load& load, const Loss& loss, double learning_rate) {
  for (std::int64_t pass = 0; pass < config_.accumulation; ++pass) {
    load(slots(pass, edges_.front().made()), input_);
    {
      const Scope scope(telemetry_, Subsystem::kForward);
      forward();
      loss(slots(pass, edges_.back().wanted()), outputs_, output_gradient_);
    }
    backward(pass);
  }
  for (Part& part : parts_) part.model->update(*part.optimizer, learning_rate);
}

void SplitModel::finish_update() {
  for (Part& part : parts_) part.model->finish_update();
}

std::map<std::string, std::vector<float>> SplitModel::weights() {
  finish_update();
  std::map<std::string, std::vector<float>> whole;
  for (Part& part : parts_) {
    const bool is_split = part.stage.distribution.splits_features;
    for (std::size_t i = 0; i < part.stage.parts.size(); ++i) {
      const ParameterPart& of = part.stage.parts[i];
      std::vector<float> values =
          part.model->executor().parameters().read_weights(static_cast<nn::ParameterId>(i));
      if (is_split) {
        std::vector<float> all(static_cast<std::size_t>(of.whole.count()));
        of.put(values, all);
        part.parts.allreduce_sum(std::span<float>(all));
        values = std::move(all);
      }
      whole.emplace(of.whole.name, std::move(values));
    }
  }
  return whole;
}

}  // namespace parallel
