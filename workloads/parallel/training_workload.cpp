// The training loop.
#include "workloads/parallel/training_workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "workloads/parallel/gradient_volume.h"
#include "workloads/parallel/replica.h"
#include "workloads/parallel/rest_state.h"
#include "workloads/parallel/thread_team.h"

namespace parallel {

using telemetry::Counter;
using telemetry::Scope;
using telemetry::Subsystem;

BatchSums& BatchSums::operator+=(const BatchSums& other) {
  loss += other.loss;
  quality += other.quality;
  counts += other.counts;
  samples += other.samples;
  return *this;
}

std::function<nn::Schedule(const runner::WorkloadInfo& counted)> schedule_of(
    const base::ObjectReader& root, std::int64_t epochs) {
  return [section = root.object("schedule", "learning rate by update"),
          epochs](const runner::WorkloadInfo& counted) {
    return nn::parse_schedule(section, counted.global_batch_size, counted.steps_per_epoch, epochs);
  };
}

TrainingWorkload::TrainingWorkload(runner::WorkloadInfo info, TrainingSetup setup,
                                   std::shared_ptr<Samples> samples, std::uint64_t seed,
                                   const runner::Surroundings& around)
    : around_(around),
      seed_(seed),
      network_(std::move(setup.network)),
      training_(std::move(setup.training)),
      split_(split_batch(training_, around.world.size())),
      info_(std::move(info)),
      optimizer_(std::move(setup.optimizer)),
      samples_(std::move(samples)),
      make_schedule_(std::move(setup.schedule)) {
  use_threads(around.threads);
  info_.global_batch_size = training_.global_batch;
  info_.gradient_accumulation_steps = training_.accumulation;
  info_.parameters = network_.parameter_count();
  info_.disclosure = disclosure_of(training_, split_, around.topology.node_count);
  if (samples_->counts_known()) learn_counts();
}

std::vector<std::string> TrainingWorkload::log_tensor_names() const {
  std::vector<std::string> names;
  for (const nn::ParameterSpec& parameter : network_.parameters()) names.push_back(parameter.name);
  return names;
}

void TrainingWorkload::learn_counts() {
  info_.train_samples = samples_->train_samples();
  info_.eval_samples = samples_->validation_samples();
  info_.steps_per_epoch = samples_->steps_per_epoch();
  schedule_.emplace(make_schedule_(info_));
}

double TrainingWorkload::learning_rate() const {
  const bool is_by_epoch = schedule().unit == nn::ScheduleUnit::kEpochs;
  return schedule_->learning_rate(is_by_epoch ? steps_done_ / info_.steps_per_epoch : steps_done_);
}

void TrainingWorkload::open_data() {
  // With the counts in the configuration, no file is accessed before run_start.
  if (samples_->counts_known()) return;
  samples_->open();
  learn_counts();
}

void TrainingWorkload::open_evaluation_data() {
  samples_->open_validation();
  info_.eval_samples = samples_->validation_samples();
}

void TrainingWorkload::initialize() {
  make_model();
  for (const nn::LayerFacts& layer : model().layers()) {
    info_.layers.push_back({layer.name, layer.implementation});
  }
  model().initialize(seed_, *optimizer_);
}

nlohmann::json TrainingWorkload::stage() {
  nlohmann::json facts = samples_->stage(split_);
  stages_meanwhile_ = facts.is_null();
  count_reads();
  return facts;
}

nlohmann::json TrainingWorkload::finish_staging(runner::StagingEnd end) {
  nlohmann::json facts = samples_->finish_staging(
      end == runner::StagingEnd::kNow ? staging::Finish::kNow : staging::Finish::kIfDone);
  stages_meanwhile_ = facts.is_null();
  count_reads();
  return facts;
}

void TrainingWorkload::clean_up() {
  batches_ = nullptr;  // ends its threads, which read the staged files
  stages_meanwhile_ = false;
  samples_->clean_up();
}

void TrainingWorkload::advance_staging() const {
  if (!stages_meanwhile_) return;
  const Scope scope(around_.telemetry, Subsystem::kStaging);
  samples_->advance_staging();
}

void TrainingWorkload::load(const Load& batches) const {
  advance_staging();
  const Scope scope(around_.telemetry, Subsystem::kInput);
  batches();
}

void TrainingWorkload::count_reads() {
  const ReadCounts counts = samples_->take_counts();
  around_.telemetry.add(Counter::kBytesRead, counts.bytes);
  around_.telemetry.add(Counter::kSkippedSamples, counts.skipped);
  around_.telemetry.add(Counter::kFlawedSamples, counts.flawed);
  around_.telemetry.add(Counter::kBytesStaged, counts.staged);
  around_.telemetry.add(Counter::kBytesFromCopy, counts.levels.copy_bytes);
  around_.telemetry.add(Counter::kSamplesFromCopy, counts.levels.copy_samples);
  around_.telemetry.add(Counter::kBytesFromSource, counts.levels.source_bytes);
  around_.telemetry.add(Counter::kSamplesFromSource, counts.levels.source_samples);
  around_.telemetry.add(Counter::kRepairedSamples, counts.levels.repaired_samples);
  around_.telemetry.add(Counter::kBytesFromMemory, counts.levels.memory_bytes);
  around_.telemetry.add(Counter::kSamplesFromMemory, counts.levels.memory_samples);
  around_.telemetry.add(Counter::kBytesFromDisk, counts.levels.disk_bytes);
  around_.telemetry.add(Counter::kSamplesFromDisk, counts.levels.disk_samples);
  around_.telemetry.add(Counter::kBytesFromPeers, counts.levels.peer_bytes);
  around_.telemetry.add(Counter::kSamplesFromPeers, counts.levels.peer_samples);
}

std::int64_t TrainingWorkload::counted(std::int64_t samples) const {
  return around_.world.rank() % split_.ranks_per_sample == 0 ? samples : 0;
}

runner::TrainResult TrainingWorkload::train(std::int64_t steps) {
  if (!batches_) {
    const Scope scope(around_.telemetry, Subsystem::kInput);
    batches_ = training_batches(steps_done_);
  }
  BatchSums mine;
  runner::TrainResult result;
  for (std::int64_t step = 0; step < steps; ++step) {
    around_.telemetry.begin_step();
    result.learning_rate = learning_rate();
    is_followed_ = step + 1 < steps;
    update(result.learning_rate, mine);
    ++steps_done_;
    around_.telemetry.end_step();
  }
  around_.telemetry.add(Counter::kSteps, steps);
  around_.telemetry.add(Counter::kTrainSamples, counted(mine.samples));
  count_reads();
  std::array<double, 2> sums = {mine.loss, static_cast<double>(mine.samples)};
  around_.world.allreduce_sum(std::span<double>(sums));
  result.samples = std::llround(sums[1]) / split_.ranks_per_sample;
  result.mean_loss = sums[0] / sums[1];
  return result;
}

double TrainingWorkload::evaluate(runner::OutputSink* outputs) {
  model().finish_update();
  const double quality = measure(outputs);
  // Outputs alone do not show it: a rectifier turns NaN into 0.
  const std::int64_t broken = model().is_finite() ? 0 : 1;
  return around_.world.allreduce_max(broken) == 0 ? quality
                                                  : std::numeric_limits<double>::quiet_NaN();
}

void TrainingWorkload::restore(const base::StateSource& source, std::int64_t steps_done) {
  model().finish_update();
  model().restore(source, *optimizer_);
  // Order and augmentation are functions of (seed, epoch, sample), so the step number suffices.
  steps_done_ = steps_done;
  batches_ = nullptr;
}

std::vector<std::string> TrainingWorkload::closed_rule_breaks() const {
  std::vector<std::string> breaks = model_rule_breaks();
  if (training_.gradients.payload == GradientPayload::kTopK) {
    breaks.emplace_back(
        "/training/gradient_payload: the closed division updates weights by all gradients, got "
        "top_k");
  }
  return breaks;
}

std::int64_t TrainingWorkload::state_bytes() const {
  return nn::training_state_bytes(network_, *optimizer_, around_.world.size()) +
         rest_state_bytes(network_, training_.gradients, around_.topology.node_count);
}

runner::StepCost TrainingWorkload::step_cost() const {
  const auto rank = static_cast<std::size_t>(around_.world.rank());
  runner::StepCost cost =
      parallel::step_cost(network_, split_.slices[rank].count * split_.accumulation);
  const runner::Topology& topology = around_.topology;
  if (topology.node_count > 1) {
    if (topology.node.size() == 1) cost.exchange_bytes = 0;
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(topology.node_count));
    for (const int node : topology.node_of_rank) ++sizes[static_cast<std::size_t>(node)];
    const OwnerGrid grid = OwnerGrid::of(sizes);
    if (topology.node.rank() < grid.owners) {
      const std::int64_t floats = gradient_floats(
          network_, training_,
          {around_.world.rank(), around_.world.size(), topology.node.size(), around_.threads});
      cost.exchange_bytes += gradient_volume(training_.gradients, floats, grid, topology.node_index,
                                             topology.node.rank())
                                 .bytes;
    }
  }
  return cost;
}

}  // namespace parallel
