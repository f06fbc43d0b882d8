// The benchmark: training steps, evaluation, weights.
// Hides how data, engine and optimizer meet.
#include "workloads/cosmoflow/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/state.h"
#include "runner/mllog/keys.h"
#include "workloads/cosmoflow/config.h"
#include "workloads/cosmoflow/log_fields.h"
#include "workloads/cosmoflow/split_plan.h"
#include "workloads/cosmoflow/trainer.h"
#include "workloads/cosmoflow/universe_data.h"
#include "workloads/parallel/data_parallel.h"
#include "workloads/parallel/gather_outputs.h"
#include "workloads/parallel/group_volumes.h"
#include "workloads/parallel/replica.h"

namespace cosmoflow {
namespace {

using telemetry::Counter;
using telemetry::Scope;
using telemetry::Subsystem;

constexpr double kMlperfTarget = 0.124;

SplitChoice choice_of(const runner::RunConfig& run, const runner::PlannedRank& place) {
  return choose_split(parse_config(run.reader), *make_optimizer(run.reader), place);
}

/// With the split that was chosen.
Config planned_config(const runner::RunConfig& run, const Split& split) {
  Config config = parse_config(run.reader);
  config.split = split;
  return config;
}

/// Collective. Nodes may differ in threads, and what is chosen for one must do for all.
runner::PlannedRank place_of(const runner::Surroundings& around) {
  const std::int64_t threads = around.world.allreduce_max(std::int64_t{around.threads});
  return {around.world.rank(), around.world.size(), around.topology.node.size(),
          static_cast<int>(threads)};
}

/// Ranks of a group stand side by side; each has a box of their samples.
DataShare share_of(const Config& config, const runner::Communicator& world) {
  const Split& split = config.split;
  const std::int64_t size = config.model.size, part = world.rank() % split.parts();
  const std::int64_t depth = size / split.depth, height = size / split.height;
  return {world.rank() / split.parts(),
          world.size() / split.parts(),
          {{part / split.height * depth, part % split.height * height, 0}, {depth, height, size}}};
}

class CosmoFlow final : public runner::Workload {
 public:
  CosmoFlow(const runner::RunConfig& run, const runner::Surroundings& around);

  const runner::WorkloadInfo& info() const override { return info_; }
  LogFields log_fields() const override {
    return cosmoflow::log_fields(config_, optimizer_->hyperparameters());
  }
  std::vector<std::string> log_tensor_names() const override;
  void open_data() override;
  void open_evaluation_data() override;
  void initialize() override;
  nlohmann::json stage() override;
  runner::TrainResult train(std::int64_t steps) override;
  double evaluate(runner::OutputSink* outputs) override;
  void save_weights(runner::StateWriter* writer) override {
    parallel::write_parameters(writer, model_->executor());
  }
  void load_weights(const runner::StateReader& reader) override;
  std::vector<base::StateArray> state() override { return model_->state(*optimizer_); }
  void restore(const base::StateSource& source, std::int64_t steps_done) override;
  std::int64_t state_bytes() const override {
    return nn::training_state_bytes(network_, *optimizer_, around_.world.size());
  }
  std::vector<std::string> keys_without_effect() const override;
  std::uint64_t replica_hash() const override {
    return model_->executor().parameters().weights_hash();
  }
  runner::StepCost step_cost() const override;
  std::vector<std::string> closed_rule_breaks() const override {
    return cosmoflow::closed_rule_breaks(config_, optimizer_->hyperparameters());
  }
  nlohmann::json staging_plan() override { return data_.staging_plan(split_); }
  nlohmann::json placement_plan() override;
  void clean_up() override;

 private:
  void learn_counts();
  void train_step(double learning_rate, std::int64_t epoch);
  nn::ErrorSums judge_batch(UniverseBatches& batches);
  void send_outputs(runner::OutputSink* sink, std::int64_t batch);
  void load(UniverseBatches& batches, std::int64_t epoch);
  void count_reads();
  /// Samples that so many targets belong to; of ranks that share them one counts them.
  std::int64_t counted(std::int64_t values) const {
    return around_.world.rank() % config_.split.parts() == 0 ? values / kTargets : 0;
  }

  const SplitChoice choice_;
  const Config config_;
  const runner::Surroundings around_;
  const std::uint64_t seed_;
  const nn::Network network_;
  const parallel::BatchSplit split_;
  runner::WorkloadInfo info_;
  UniverseData data_;
  std::unique_ptr<nn::Optimizer> optimizer_;
  std::unique_ptr<parallel::GroupVolumes> volumes_;  ///< null: samples are whole
  std::unique_ptr<parallel::DataParallel> model_;
  std::unique_ptr<UniverseBatches> batches_;
  std::vector<float> targets_;
  nn::ErrorSums sums_;
  std::int64_t steps_done_ = 0;
};

CosmoFlow::CosmoFlow(const runner::RunConfig& run, const runner::Surroundings& around)
    : choice_(choice_of(run, place_of(around))),
      config_(planned_config(run, choice_.split)),
      around_(around),
      seed_(run.seed),
      network_(build_network(config_.model, config_.split)),
      split_(parallel::split_batch(data_parallel_config(config_), around.world.size())),
      data_(config_, around.world, around.topology, around.telemetry.clock(), around.threads,
            run.seed, share_of(config_, around.world)),
      optimizer_(make_optimizer(run.reader)) {
  parallel::use_threads(around.threads);
  info_.name = "cosmoflow";
  info_.benchmark = "cosmoflow";
  info_.global_batch_size = config_.global_batch_size;
  info_.gradient_accumulation_steps = config_.gradient_accumulation_steps;
  info_.parameters = network_.parameter_count();
  info_.target = {mllog::keys::kEvalError, runner::Direction::kFalls, kMlperfTarget};
  if (config_.data.counts_known()) learn_counts();
}

void CosmoFlow::learn_counts() {
  info_.train_samples = data_.train_samples();
  info_.eval_samples = data_.validation_samples();
  info_.steps_per_epoch = data_.steps_per_epoch();
}

void CosmoFlow::open_data() {
  // With the counts in the configuration, no file is touched before run_start.
  if (config_.data.counts_known()) return;
  data_.open();
  learn_counts();
}

void CosmoFlow::open_evaluation_data() {
  data_.open_validation();
  info_.eval_samples = data_.validation_samples();
}

std::vector<std::string> CosmoFlow::log_tensor_names() const {
  std::vector<std::string> names;
  for (const nn::ParameterSpec& parameter : network_.parameters()) names.push_back(parameter.name);
  return names;
}

void CosmoFlow::initialize() {
  parallel::DataParallelConfig training = data_parallel_config(config_);
  if (config_.split.parts() > 1) {
    volumes_ = std::make_unique<parallel::GroupVolumes>(around_.world, config_.split.depth,
                                                        config_.split.height, around_.telemetry);
    training.volumes = volumes_.get();
  }
  model_ = std::make_unique<parallel::DataParallel>(network_, training, around_.world,
                                                    around_.topology.node, around_.telemetry);
  model_->initialize(seed_, *optimizer_);
}

nlohmann::json CosmoFlow::placement_plan() {
  if (config_.split.parts() == 1) return nullptr;
  return {{"sample_split", to_json(choice_)}};
}

void CosmoFlow::clean_up() {
  batches_.reset();  // its threads read what is about to go
  data_.clean_up();
}

nlohmann::json CosmoFlow::stage() {
  nlohmann::json facts = data_.stage(split_);
  count_reads();
  return facts;
}

void CosmoFlow::load(UniverseBatches& batches, std::int64_t epoch) {
  const Scope scope(around_.telemetry, Subsystem::kInput);
  targets_ = load_batch(batches.next(), config_.data.apply_log, seed_, epoch, model_->executor());
}

void CosmoFlow::train_step(double learning_rate, std::int64_t epoch) {
  // Ranks that share a sample have its loss each.
  const double scale =
      1.0 / static_cast<double>(info_.global_batch_size * kTargets * config_.split.parts());
  model_->step([&](std::int64_t) { load(*batches_, epoch); },
               [&](std::int64_t) {
                 nn::Executor& executor = model_->executor();
                 const nn::ErrorSums sums = nn::squared_error(
                     executor.outputs(), targets_, kTargets, scale, executor.output_gradient());
                 sums_.squared += sums.squared;
                 sums_.values += sums.values;
               },
               *optimizer_, learning_rate);
}

runner::TrainResult CosmoFlow::train(std::int64_t steps) {
  if (!batches_) {
    const Scope scope(around_.telemetry, Subsystem::kInput);
    batches_ = data_.training_batches(split_, steps_done_);
  }
  sums_ = {};
  runner::TrainResult result;
  for (std::int64_t step = 0; step < steps; ++step) {
    around_.telemetry.begin_step();
    const std::int64_t epoch = steps_done_ / info_.steps_per_epoch;
    result.learning_rate = config_.schedule.learning_rate(epoch);
    train_step(result.learning_rate, epoch);
    ++steps_done_;
    around_.telemetry.end_step();
  }
  around_.telemetry.add(Counter::kSteps, steps);
  around_.telemetry.add(Counter::kTrainSamples, counted(sums_.values));
  count_reads();
  std::array<double, 2> sums = {sums_.squared, static_cast<double>(sums_.values)};
  around_.world.allreduce_sum(std::span<double>(sums));
  result.samples = std::llround(sums[1]) / kTargets / config_.split.parts();
  result.mean_loss = sums[0] / sums[1];
  return result;
}

void CosmoFlow::count_reads() {
  const parallel::ReadCounts counts = data_.take_counts();
  around_.telemetry.add(Counter::kBytesRead, counts.bytes);
  around_.telemetry.add(Counter::kBytesStaged, counts.staged);
}

nn::ErrorSums CosmoFlow::judge_batch(UniverseBatches& batches) {
  load(batches, 0);
  const Scope scope(around_.telemetry, Subsystem::kForward);
  model_->executor().forward(nn::Mode::kInference);
  return nn::squared_error(model_->executor().outputs(), targets_, kTargets, 0.0, {});
}

double CosmoFlow::evaluate(runner::OutputSink* outputs) {
  std::unique_ptr<UniverseBatches> batches;
  {
    const Scope scope(around_.telemetry, Subsystem::kInput);
    open_evaluation_data();
    batches = data_.validation_batches(model_->local_batch());
  }
  const auto [first, last] = data_.validation_part();
  const std::int64_t size = model_->local_batch();
  const std::int64_t mine = (last - first + size - 1) / size;
  // Sending outputs is collective, so that a rank with fewer batches sends empty ones at the end.
  const bool sends = around_.world.allreduce_max(std::int64_t{outputs != nullptr ? 1 : 0}) > 0;
  const std::int64_t rounds = sends ? around_.world.allreduce_max(mine) : mine;
  nn::ErrorSums sums;
  for (std::int64_t batch = 0; batch < rounds; ++batch) {
    targets_.clear();
    if (batch < mine) {
      const nn::ErrorSums part = judge_batch(*batches);
      sums.absolute += part.absolute;
      sums.values += part.values;
    }
    if (sends) send_outputs(outputs, batch);
  }
  around_.telemetry.add(Counter::kEvalSamples, counted(sums.values));
  count_reads();
  std::array<double, 2> totals = {sums.absolute, static_cast<double>(sums.values)};
  around_.world.allreduce_sum(std::span<double>(totals));
  return totals[0] / totals[1];
}

void CosmoFlow::send_outputs(runner::OutputSink* sink, std::int64_t batch) {
  const auto [first, last] = data_.validation_part();
  const std::int64_t count = counted(static_cast<std::int64_t>(targets_.size()));
  parallel::gather_outputs(around_.world, sink,
                           std::min(first + batch * model_->local_batch(), last), count, kTargets,
                           model_->executor().outputs(), kTargets, targets_);
}

void CosmoFlow::load_weights(const runner::StateReader& reader) {
  std::set<std::string> known;
  parallel::read_parameters(reader, model_->executor(), known);
  parallel::refuse_unknown(reader, known);
}

void CosmoFlow::restore(const base::StateSource& source, std::int64_t steps_done) {
  model_->restore(source, *optimizer_);
  // Order, orientation and dropout are functions of (seed, epoch, sample): the step is all they
  // need.
  steps_done_ = steps_done;
  batches_.reset();
}

std::vector<std::string> CosmoFlow::keys_without_effect() const {
  std::vector<std::string> keys = {"/staging", "/dataset/decode_threads",
                                   "/dataset/prefetch_batches", "/dataset/cache_bytes"};
  // Where a decay ends says /schedule/decay_epochs.
  keys.emplace_back("/epochs");
  if (!config_.chooses_split) keys.emplace_back("/training/memory_limit_gib");
  return keys;
}

runner::StepCost CosmoFlow::step_cost() const {
  const auto rank = static_cast<std::size_t>(around_.world.rank());
  return parallel::step_cost(network_, split_.slices[rank].count * split_.accumulation);
}

}  // namespace

std::unique_ptr<runner::Workload> make_workload(const runner::RunConfig& config,
                                                const runner::Surroundings& around) {
  return std::make_unique<CosmoFlow>(config, around);
}

runner::MemoryNeeds memory_needs(const runner::RunConfig& run, const runner::PlannedRank& place) {
  const Config config = planned_config(run, choice_of(run, place).split);
  return memory_of(config, *make_optimizer(run.reader), place);
}

}  // namespace cosmoflow
