// Training and evaluation of a model that every rank has.
// Hides their loops.
#include "workloads/parallel/replica_workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "workloads/parallel/replica.h"
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

ReplicaWorkload::ReplicaWorkload(runner::WorkloadInfo info, ReplicaModel model,
                                 std::shared_ptr<SampleSets> sets, std::uint64_t seed,
                                 const runner::Surroundings& around)
    : around_(around),
      seed_(seed),
      network_(std::move(model.network)),
      training_(std::move(model.training)),
      split_(split_batch(training_, around.world.size())),
      info_(std::move(info)),
      optimizer_(std::move(model.optimizer)),
      sets_(std::move(sets)) {
  use_threads(around.threads);
  info_.global_batch_size = training_.global_batch;
  info_.gradient_accumulation_steps = training_.accumulation;
  info_.parameters = network_.parameter_count();
  info_.disclosure = disclosure_of(training_, split_);
  if (sets_->counts_known()) learn_counts();
}

std::vector<std::string> ReplicaWorkload::log_tensor_names() const {
  std::vector<std::string> names;
  for (const nn::ParameterSpec& parameter : network_.parameters()) names.push_back(parameter.name);
  return names;
}

void ReplicaWorkload::learn_counts() {
  info_.train_samples = sets_->train_samples();
  info_.eval_samples = sets_->validation_samples();
  info_.steps_per_epoch = sets_->steps_per_epoch();
}

void ReplicaWorkload::open_data() {
  // With the counts in the configuration, no file is touched before run_start.
  if (sets_->counts_known()) return;
  sets_->open();
  learn_counts();
}

void ReplicaWorkload::open_evaluation_data() {
  sets_->open_validation();
  info_.eval_samples = sets_->validation_samples();
}

void ReplicaWorkload::initialize() {
  training_.volumes = volumes_.get();
  model_ = std::make_unique<DataParallel>(network_, training_, around_.world, around_.topology.node,
                                          around_.telemetry);
  model_->initialize(seed_, *optimizer_);
}

nlohmann::json ReplicaWorkload::stage() {
  nlohmann::json facts = sets_->stage(split_);
  count_reads();
  return facts;
}

void ReplicaWorkload::clean_up() {
  batches_ = nullptr;  // its threads read what is about to go
  sets_->clean_up();
}

void ReplicaWorkload::load(const Load& batches) const {
  const Scope scope(around_.telemetry, Subsystem::kInput);
  batches();
}

void ReplicaWorkload::count_reads() {
  const ReadCounts counts = sets_->take_counts();
  around_.telemetry.add(Counter::kBytesRead, counts.bytes);
  around_.telemetry.add(Counter::kSkippedSamples, counts.skipped);
  around_.telemetry.add(Counter::kBytesStaged, counts.staged);
}

std::int64_t ReplicaWorkload::counted(std::int64_t samples) const {
  return around_.world.rank() % split_.sample_ranks == 0 ? samples : 0;
}

runner::TrainResult ReplicaWorkload::train(std::int64_t steps) {
  if (!batches_) {
    const Scope scope(around_.telemetry, Subsystem::kInput);
    batches_ = training_batches(steps_done_);
  }
  BatchSums mine;
  runner::TrainResult result;
  for (std::int64_t step = 0; step < steps; ++step) {
    around_.telemetry.begin_step();
    result.learning_rate = learning_rate(steps_done_);
    model_->step([&](std::int64_t) { load(batches_); }, [&](std::int64_t) { mine += learn(); },
                 *optimizer_, result.learning_rate);
    ++steps_done_;
    around_.telemetry.end_step();
  }
  around_.telemetry.add(Counter::kSteps, steps);
  around_.telemetry.add(Counter::kTrainSamples, counted(mine.samples));
  count_reads();
  std::array<double, 2> sums = {mine.loss, static_cast<double>(mine.samples)};
  around_.world.allreduce_sum(std::span<double>(sums));
  result.samples = std::llround(sums[1]) / split_.sample_ranks;
  result.mean_loss = sums[0] / sums[1];
  return result;
}

ReplicaWorkload::Load ReplicaWorkload::open_evaluation() {
  const Scope scope(around_.telemetry, Subsystem::kInput);
  ReplicaWorkload::open_evaluation_data();
  return evaluation_batches();
}

BatchSums ReplicaWorkload::judge_next(const Load& batches, std::int64_t samples) {
  load(batches);
  const Scope scope(around_.telemetry, Subsystem::kForward);
  executor().forward(nn::Mode::kInference);
  return judge(samples);
}

double ReplicaWorkload::evaluate(runner::OutputSink* outputs) {
  const Load batches = open_evaluation();
  synchronize_statistics();
  const auto [first, last] = sets_->validation_part();
  const std::int64_t size = model_->local_batch(), mine = sets_->validation_batch_count(size);
  // Sending outputs is collective, so that a rank with fewer batches sends empty ones at the end.
  const bool sends = around_.world.allreduce_max(std::int64_t{outputs != nullptr ? 1 : 0}) > 0;
  const std::int64_t rounds = sends ? around_.world.allreduce_max(mine) : mine;
  BatchSums sums;
  for (std::int64_t batch = 0; batch < rounds; ++batch) {
    const std::int64_t begin = std::min(first + batch * size, last);
    const std::int64_t samples = std::min(size, last - begin);
    if (batch < mine) sums += judge_next(batches, samples);
    if (sends) send_outputs(outputs, begin, counted(samples));
  }
  around_.telemetry.add(Counter::kEvalSamples, counted(sums.samples));
  count_reads();
  std::array<double, 2> totals = {sums.quality, static_cast<double>(sums.counts)};
  around_.world.allreduce_sum(std::span<double>(totals));
  return totals[0] / totals[1];
}

void ReplicaWorkload::synchronize_statistics() {
  if (!network_.statistics().empty()) model_->synchronize_statistics();
}

void ReplicaWorkload::save_weights(runner::StateWriter* writer) {
  synchronize_statistics();
  write_parameters(writer, executor());
  write_statistics(writer, executor());
}

void ReplicaWorkload::load_weights(const runner::StateReader& reader) {
  std::set<std::string> known;
  read_parameters(reader, executor(), known);
  read_statistics(reader, executor(), known);
  refuse_unknown(reader, known);
}

void ReplicaWorkload::restore(const base::StateSource& source, std::int64_t steps_done) {
  model_->restore(source, *optimizer_);
  // Order and augmentation are functions of (seed, epoch, sample): the step is all they need.
  steps_done_ = steps_done;
  batches_ = nullptr;
}

std::int64_t ReplicaWorkload::state_bytes() const {
  return nn::training_state_bytes(network_, *optimizer_, around_.world.size());
}

std::vector<std::string> ReplicaWorkload::keys_without_effect() const {
  // More epochs only append steps: where they move a schedule, keys of its own differ too.
  return {"/dataset/decode_threads", "/dataset/prefetch_batches", "/epochs"};
}

std::uint64_t ReplicaWorkload::replica_hash() const {
  return std::as_const(*model_).executor().parameters().weights_hash();
}

runner::StepCost ReplicaWorkload::step_cost() const {
  const auto rank = static_cast<std::size_t>(around_.world.rank());
  return parallel::step_cost(network_, split_.slices[rank].count * split_.accumulation);
}

}  // namespace parallel
