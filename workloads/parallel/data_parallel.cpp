// Implements a data-parallel step: passes, gradient exchange, update.
#include "workloads/parallel/data_parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "runner/base/error.h"
#include "workloads/nn/product_rates.h"
#include "workloads/parallel/divided_state.h"
#include "workloads/parallel/rest_state.h"

namespace parallel {

using telemetry::Counter;
using telemetry::Scope;
using telemetry::Subsystem;

BatchSplit split_batch(const DataParallelConfig& config, int ranks) {
  if (config.global_batch % config.accumulation != 0) {
    throw base::ConfigError(fmt::format(
        "/training/global_batch_size: must divide by {} gradient accumulation steps, got {}",
        config.accumulation, config.global_batch));
  }
  const std::int64_t pass = config.global_batch / config.accumulation;
  if (pass % config.bn_group_size != 0) {
    throw base::ConfigError(fmt::format(
        "/training/bn_group_samples: must divide the {} samples of a pass over all ranks, got {}",
        pass, config.bn_group_size));
  }
  if (ranks % config.ranks_per_sample != 0) {
    throw base::ConfigError(
        fmt::format("/training/sample_split: must divide {} ranks, got {} parts of a sample", ranks,
                    config.ranks_per_sample));
  }
  if (config.ranks_per_sample > 1 && config.bn_group_size > 1) {
    throw base::ConfigError(
        "/training/bn_group_samples: must be 1 where ranks split samples, since larger groups need "
        "whole samples on each rank, got " +
        std::to_string(config.bn_group_size));
  }
  const std::int64_t sharers = ranks / config.ranks_per_sample;
  // Plans list what they do with each sample.
  if (pass / sharers > kMostPassSamples) {
    throw base::ConfigError(
        fmt::format("/training/global_batch_size: expected at most {} samples on a rank in each of "
                    "the {} passes of a step, got {} on {} ranks",
                    kMostPassSamples, config.accumulation, config.global_batch, ranks));
  }
  BatchSplit split = {{}, pass, config.accumulation, config.ranks_per_sample};
  for (const nn::PassSlice& slice :
       slice_pass(pass, static_cast<int>(ranks / config.ranks_per_sample))) {
    split.slices.insert(split.slices.end(), static_cast<std::size_t>(config.ranks_per_sample),
                        slice);
  }
  return split;
}

runner::Disclosure disclosure_of(const DataParallelConfig& config, const BatchSplit& split,
                                 int nodes) {
  runner::Disclosure facts;
  facts.linear = nn::logged_name(config.arithmetic.precision);
  if (config.ranks_per_sample > 1) facts.communication = facts.linear;
  const GradientTravel& gradients = config.gradients;
  if (nodes > 1) facts.gradients = description_of(gradients);
  // Margins in bfloat16 are lower than gradients in f32.
  const bool is_rounded =
      gradients.payload == GradientPayload::kBf16 || gradients.payload == GradientPayload::kInt8;
  if (nodes > 1 && is_rounded) {
    facts.communication = logged_name(gradients.payload);
  }
  facts.context_ranks = config.ranks_per_sample;
  for (const nn::PassSlice& slice : split.slices) {
    facts.micro_batch_size = std::max(facts.micro_batch_size, slice.count);
  }
  return facts;
}

nn::ExecutorOptions executor_options(const DataParallelConfig& config, const BatchSplit& split,
                                     int rank) {
  nn::ExecutorOptions options;
  options.batch = split.slices[static_cast<std::size_t>(rank)].count;
  options.accumulates = split.accumulation > 1;
  std::vector<nn::PassSlice> shares;
  for (std::size_t i = 0; i < split.slices.size();
       i += static_cast<std::size_t>(split.ranks_per_sample)) {
    shares.push_back(split.slices[i]);
  }
  options.groups = nn::plan_batch_groups(shares, rank / static_cast<int>(split.ranks_per_sample),
                                         config.bn_group_size);
  options.volumes = config.volumes;
  options.kernels = nn::kernels(config.instruction_set);
  options.arithmetic = config.arithmetic;
  options.recompute = config.recompute;
  return options;
}

namespace {

/// Forwards each notification to one or two listeners.
class Listeners final : public nn::PassListener {
 public:
  /// `second` may be null.
  Listeners(nn::PassListener& first, nn::PassListener* second)
      : listeners_{&first, second == nullptr ? &none_ : second} {}
  void input_needed(nn::ValueId value) override {
    for (nn::PassListener* const one : listeners_) one->input_needed(value);
  }
  void weights_needed(std::int64_t first) override {
    for (nn::PassListener* const one : listeners_) one->weights_needed(first);
  }
  void input_gradient_ready(nn::ValueId value) override {
    for (nn::PassListener* const one : listeners_) one->input_gradient_ready(value);
  }
  void gradients_ready(std::int64_t floats) override {
    for (nn::PassListener* const one : listeners_) one->gradients_ready(floats);
  }

 private:
  nn::PassListener none_;
  const std::array<nn::PassListener*, 2> listeners_;
};

/// Collective. The faster kind of products as rank 0 measures it, since all ranks must use the same
/// kind; without such a choice, config.arithmetic.faster.
nn::Products agreed_products(const DataParallelConfig& config, const runner::Communicator& world) {
  const nn::Arithmetic& arithmetic = config.arithmetic;
  const bool is_asked =
      arithmetic.precision == nn::Precision::kBf16 && arithmetic.products == nn::Products::kFaster;
  if (!is_asked) return arithmetic.faster;
  std::string faster;
  if (world.rank() == 0)
    faster = to_string(nn::faster_products(nn::kernels(config.instruction_set)));
  const bool is_floats = world.broadcast(faster, 0) == to_string(nn::Products::kFloats);
  return is_floats ? nn::Products::kFloats : nn::Products::kPairs;
}

/// Collective. Adds up `numbers` over ranks in their order, in place: the same bits on all.
void add_in_order(const runner::Communicator& ranks, std::span<double> numbers) {
  const std::vector<double> mine(numbers.begin(), numbers.end());
  std::vector<double> all(mine.size() * static_cast<std::size_t>(ranks.size()));
  const std::vector<int> counts(static_cast<std::size_t>(ranks.size()),
                                static_cast<int>(mine.size()));
  ranks.allgather(mine, all, counts);
  std::ranges::fill(numbers, 0.0);
  for (std::size_t i = 0; i < all.size(); ++i) numbers[i % numbers.size()] += all[i];
}

/// Records each layer in the trace.
class TracedLayers final : public nn::LayerListener {
 public:
  explicit TracedLayers(telemetry::Telemetry& telemetry) : telemetry_(telemetry) {}
  void layer_begins(const char* name, const char* method) override {
    telemetry_.enter_layer(name, method);
  }
  void layer_ends() override { telemetry_.leave_layer(); }

 private:
  telemetry::Telemetry& telemetry_;
};

}  // namespace

DataParallel::DataParallel(const nn::Network& network, const DataParallelConfig& config,
                           const runner::Communicator& world, const runner::Communicator& node,
                           telemetry::Telemetry& telemetry)
    : world_(world),
      node_(node),
      telemetry_(telemetry),
      config_(config),
      split_(split_batch(config, world.size())) {
  nn::ExecutorOptions options = executor_options(config, split_, world.rank());
  options.arithmetic.faster = agreed_products(config, world);
  groups_per_step_ = options.groups.total * config.accumulation;
  group_exchange_ = std::make_unique<GroupExchange>(world, options.groups);
  memory_ = make_memory(node);
  options.memory = memory_;
  executor_ = std::make_unique<nn::Executor>(network, options, device_, group_exchange_.get());
  if (telemetry.is_traced()) {
    traced_layers_ = std::make_unique<TracedLayers>(telemetry);
    executor_->set_layer_listener(*traced_layers_);
  }
  gradient_exchange_ = std::make_unique<GradientExchange>(
      world, node, telemetry, memory_->blocks_of_all(), config.gradients, config.instruction_set);
  late_update_ = std::make_unique<LateUpdate>(executor_->parameters(), *memory_,
                                              *gradient_exchange_, telemetry);
  if (!config.gradients.tries_pieces) return;
  std::vector<PieceCut> cuts = gradient_exchange_->cuts_to_try();
  if (cuts.size() > 1) trials_.emplace(std::move(cuts));
}

void DataParallel::initialize(std::uint64_t seed, nn::Optimizer& optimizer) {
  executor_->parameters().initialize(seed);
  const bool is_divided = gradient_exchange_->divides_updates();
  optimizer.prepare(
      executor_->parameters().views(),
      {memory_, [this](std::int64_t offset) { return gradient_exchange_->is_mine(offset); },
       is_divided ? std::function<bool(std::int64_t)>(
                        [this](std::int64_t offset) { return gradient_exchange_->is_here(offset); })
                  : nullptr,
       [this, is_divided](std::span<double> parts) {
         (is_divided ? world_ : node_).allreduce_sum(parts);
       },
       config_.parts == nullptr
           ? std::function<void(std::span<double>)>()
           : [this](std::span<double> numbers) { add_in_order(*config_.parts, numbers); }});
}

void DataParallel::step(const Load& load, const Loss& loss, nn::Optimizer& optimizer,
                        double learning_rate, nn::PassListener* listener) {
  for (std::int64_t pass = 0; pass < config_.accumulation; ++pass) {
    load(pass);
    {
      const Scope scope(telemetry_, Subsystem::kForward);
      forward(listener);
      loss(pass);
    }
    backward(pass, listener);
  }
  update(optimizer, learning_rate);
}

void DataParallel::forward(nn::PassListener* listener) {
  Listeners in_forward(*late_update_, listener);
  executor_->forward(config_.mode, &in_forward);
}

void DataParallel::backward(std::int64_t pass, nn::PassListener* listener) {
  if (pass == 0) {
    late_update_->finish();  // nothing is left unless some weights have no part in the pass
    if (trials_) try_cut();
    gradient_exchange_->begin();
  }
  // Gradients are final only in the last pass.
  const bool last = pass + 1 == config_.accumulation;
  {
    const Scope scope(telemetry_, Subsystem::kBackward);
    Listeners in_backward(*gradient_exchange_, listener);
    executor_->backward(pass > 0, last ? &in_backward : nullptr);
    telemetry_.add(Counter::kFlops, executor_->training_flops());
  }
  if (last) gradient_exchange_->close();
}

void DataParallel::try_cut() {
  // A late update, which is part of the step before, has just ended.
  const std::int64_t now = telemetry_.now_ns();
  if (trial_begin_) trials_->step_took(static_cast<double>(now - *trial_begin_) * 1e-9);
  trial_begin_ = now;
  PieceCut next;
  if (trials_->is_over()) {
    std::vector<double> seconds = trials_->seconds();
    for (double& of_slowest : seconds) of_slowest = world_.allreduce_max(of_slowest);
    const std::vector<PieceCut>& cuts = trials_->cuts();
    const std::size_t best = PieceTrials::best(seconds);
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      telemetry_.tell_trial({cuts[i].floats * static_cast<std::int64_t>(sizeof(float)),
                             cuts[i].last_first, seconds[i], i == best});
    }
    next = cuts[best];
    trials_.reset();
  } else {
    next = trials_->cut();
  }
  if (next == gradient_exchange_->cut()) return;
  gradient_exchange_->set_cut(next);
  late_update_->regroup();
}

void DataParallel::update(nn::Optimizer& optimizer, double learning_rate) {
  {
    const Scope scope(telemetry_, Subsystem::kOptimizer);
    if (config_.mode == nn::Mode::kTraining) executor_->statistics().finish_step(groups_per_step_);
  }
  const GradientTravel& gradients = config_.gradients;
  // Sums of other payloads keep their order, so that a pass would wait for nearly all of them at
  // its start. Ranks with parts of tensors add up norms, so all update at the same moment.
  late_update_->begin(optimizer, learning_rate,
                      gradients.late_update && gradients.is_exact() && config_.parts == nullptr &&
                          gradient_exchange_->is_between_nodes());
}

void DataParallel::exchange_alone() {
  finish_update();
  gradient_exchange_->begin();
  gradient_exchange_->finish();
  if (!gradient_exchange_->divides_updates()) return;
  const std::span<float> weights = executor_->parameters().all_weights();
  gradient_exchange_->start_gather(weights);
  gradient_exchange_->wait_gathered(0, std::ssize(weights));
}

void DataParallel::synchronize_statistics() {
  executor_->statistics().synchronize(place().sum_over_ranks);
}

nn::ReplicaPlace DataParallel::place() const {
  return {world_.rank(), world_.size(),
          [this](std::span<double> part) { world_.allreduce_sum(part); }};
}

std::vector<base::StateArray> DataParallel::state(nn::Optimizer& optimizer) {
  std::vector<base::StateArray> arrays = nn::training_state(*executor_, optimizer, place());
  std::ranges::move(divided_state(*executor_, optimizer, *gradient_exchange_, world_),
                    std::back_inserter(arrays));
  std::ranges::move(rest_state(*executor_, *gradient_exchange_, node_.rank() == 0),
                    std::back_inserter(arrays));
  return arrays;
}

void DataParallel::restore(const base::StateSource& source, nn::Optimizer& optimizer) {
  nn::restore_training_state(source, *executor_, optimizer, place());
  restore_divided_state(source, *executor_, optimizer, node_.rank() == 0);
  restore_rest(source, *executor_, *gradient_exchange_, node_.rank() == 0);
  memory_->publish();
}

}  // namespace parallel
