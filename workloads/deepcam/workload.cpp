// The benchmark: training steps, evaluation, weights.
// Hides how data, engine and optimizer meet.
#include "workloads/deepcam/workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "runner/base/state.h"
#include "runner/mllog/keys.h"
#include "workloads/deepcam/climate_data.h"
#include "workloads/deepcam/config.h"
#include "workloads/deepcam/log_fields.h"
#include "workloads/deepcam/trainer.h"
#include "workloads/parallel/data_parallel.h"
#include "workloads/parallel/gather_outputs.h"
#include "workloads/parallel/replica.h"

namespace deepcam {
namespace {

using telemetry::Counter;
using telemetry::Scope;
using telemetry::Subsystem;

constexpr double kMlperfTarget = 0.82;

class DeepCam final : public runner::Workload {
 public:
  DeepCam(const runner::RunConfig& run, const runner::Surroundings& around);

  const runner::WorkloadInfo& info() const override { return info_; }
  LogFields log_fields() const override {
    return deepcam::log_fields(config_, optimizer_->hyperparameters());
  }
  std::vector<std::string> log_tensor_names() const override;
  void open_data() override;
  void open_evaluation_data() override;
  void initialize() override;
  nlohmann::json stage() override;
  runner::TrainResult train(std::int64_t steps) override;
  double evaluate(runner::OutputSink* outputs) override;
  void save_weights(runner::StateWriter* writer) override;
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
    return deepcam::closed_rule_breaks(config_, optimizer_->hyperparameters());
  }
  nlohmann::json staging_plan() override { return data_.staging_plan(split_); }
  void clean_up() override;

 private:
  void learn_counts();
  void train_step(double learning_rate);
  const ClimateBatch& load(ClimateBatches& batches);
  void send_outputs(runner::OutputSink* sink, std::int64_t batch, const ClimateBatch* judged);
  void count_reads();

  const Config config_;
  const runner::Surroundings around_;
  const std::uint64_t seed_;
  const nn::Network network_;
  const parallel::DataParallelConfig training_;
  const parallel::BatchSplit split_;
  runner::WorkloadInfo info_;
  ClimateData data_;
  std::unique_ptr<nn::Optimizer> optimizer_;
  std::unique_ptr<parallel::DataParallel> model_;
  std::unique_ptr<ClimateBatches> batches_;
  Scores sums_;
  std::int64_t steps_done_ = 0;
};

DeepCam::DeepCam(const runner::RunConfig& run, const runner::Surroundings& around)
    : config_(parse_config(run.reader)),
      around_(around),
      seed_(run.seed),
      network_(build_network(config_.model)),
      training_(data_parallel_config(config_, around.world.size())),
      split_(parallel::split_batch(training_, around.world.size())),
      data_(config_.data, config_.staging, config_.global_batch_size, config_.epochs,
            config_.model.height, config_.model.width, around.world, around.topology,
            around.telemetry.clock(), around.threads, run.seed),
      optimizer_(make_optimizer(run.reader)) {
  parallel::use_threads(around.threads);
  info_.name = "deepcam";
  info_.benchmark = "deepcam";
  info_.global_batch_size = config_.global_batch_size;
  info_.gradient_accumulation_steps = config_.gradient_accumulation_steps;
  info_.parameters = network_.parameter_count();
  info_.target = {mllog::keys::kEvalAccuracy, runner::Direction::kRises, kMlperfTarget};
  if (config_.data.counts_known()) learn_counts();
}

void DeepCam::learn_counts() {
  info_.train_samples = data_.train_samples();
  info_.eval_samples = data_.validation_samples();
  info_.steps_per_epoch = data_.steps_per_epoch();
}

void DeepCam::open_data() {
  // With the counts in the configuration, no file is touched before run_start.
  if (config_.data.counts_known()) return;
  data_.open();
  learn_counts();
}

void DeepCam::open_evaluation_data() {
  data_.open_validation();
  info_.eval_samples = data_.validation_samples();
}

std::vector<std::string> DeepCam::log_tensor_names() const {
  std::vector<std::string> names;
  for (const nn::ParameterSpec& parameter : network_.parameters()) names.push_back(parameter.name);
  return names;
}

void DeepCam::initialize() {
  model_ = std::make_unique<parallel::DataParallel>(network_, training_, around_.world,
                                                    around_.topology.node, around_.telemetry);
  model_->initialize(seed_, *optimizer_);
}

void DeepCam::clean_up() {
  batches_.reset();  // its threads read what is about to go
  data_.clean_up();
}

nlohmann::json DeepCam::stage() {
  nlohmann::json facts = data_.stage(split_);
  count_reads();
  return facts;
}

const ClimateBatch& DeepCam::load(ClimateBatches& batches) {
  const Scope scope(around_.telemetry, Subsystem::kInput);
  const ClimateBatch& batch = batches.next();
  load_batch(batch, data_.statistics(), model_->executor());
  return batch;
}

void DeepCam::train_step(double learning_rate) {
  const double scale = 1.0 / static_cast<double>(info_.global_batch_size * config_.model.height *
                                                 config_.model.width);
  const ClimateBatch* batch = nullptr;
  model_->step([&](std::int64_t) { batch = &load(*batches_); },
               [&](std::int64_t) { sums_ += judge(*batch, scale, model_->executor()); },
               *optimizer_, learning_rate);
}

runner::TrainResult DeepCam::train(std::int64_t steps) {
  if (!batches_) {
    const Scope scope(around_.telemetry, Subsystem::kInput);
    batches_ = data_.training_batches(split_, steps_done_);
  }
  sums_ = {};
  runner::TrainResult result;
  for (std::int64_t step = 0; step < steps; ++step) {
    around_.telemetry.begin_step();
    result.learning_rate = config_.schedule.learning_rate(steps_done_);
    train_step(result.learning_rate);
    ++steps_done_;
    around_.telemetry.end_step();
  }
  around_.telemetry.add(Counter::kSteps, steps);
  around_.telemetry.add(Counter::kTrainSamples, sums_.samples);
  count_reads();
  std::array<double, 2> sums = {sums_.loss, static_cast<double>(sums_.samples)};
  around_.world.allreduce_sum(std::span<double>(sums));
  result.samples = std::llround(sums[1]);
  result.mean_loss = sums[0] / sums[1];
  return result;
}

void DeepCam::count_reads() {
  const parallel::ReadCounts counts = data_.take_counts();
  around_.telemetry.add(Counter::kBytesRead, counts.bytes);
  around_.telemetry.add(Counter::kBytesStaged, counts.staged);
}

double DeepCam::evaluate(runner::OutputSink* outputs) {
  std::unique_ptr<ClimateBatches> batches;
  {
    const Scope scope(around_.telemetry, Subsystem::kInput);
    open_evaluation_data();
    batches = data_.validation_batches(model_->local_batch());
  }
  model_->synchronize_statistics();
  const auto [first, last] = data_.validation_part();
  const std::int64_t size = model_->local_batch();
  const std::int64_t mine = (last - first + size - 1) / size;
  // Sending outputs is collective, so that a rank with fewer batches sends empty ones at the end.
  const bool sends = around_.world.allreduce_max(std::int64_t{outputs != nullptr ? 1 : 0}) > 0;
  const std::int64_t rounds = sends ? around_.world.allreduce_max(mine) : mine;
  Scores sums;
  for (std::int64_t batch = 0; batch < rounds; ++batch) {
    const ClimateBatch* judged = nullptr;
    if (batch < mine) {
      judged = &load(*batches);
      const Scope scope(around_.telemetry, Subsystem::kForward);
      model_->executor().forward(nn::Mode::kInference);
      sums += judge(*judged, 0.0, model_->executor(), config_.iou);
    }
    if (sends) send_outputs(outputs, batch, judged);
  }
  around_.telemetry.add(Counter::kEvalSamples, sums.samples);
  count_reads();
  std::array<double, 2> totals = {sums.iou, static_cast<double>(sums.counts)};
  around_.world.allreduce_sum(std::span<double>(totals));
  return totals[0] / totals[1];
}

void DeepCam::send_outputs(runner::OutputSink* sink, std::int64_t batch,
                           const ClimateBatch* judged) {
  const auto [first, last] = data_.validation_part();
  const std::int64_t points = config_.model.height * config_.model.width;
  std::vector<float> labels;
  std::int64_t count = 0;
  for (std::size_t slot = 0; judged != nullptr && slot < judged->size(); ++slot) {
    const ClimateSlot& each = (*judged)[slot];
    if (each.index() < 0) continue;
    labels.insert(labels.end(), each.sample().labels.begin(), each.sample().labels.end());
    ++count;
  }
  parallel::gather_outputs(around_.world, sink,
                           std::min(first + batch * model_->local_batch(), last), count,
                           kClasses * points, model_->executor().outputs(), points, labels);
}

void DeepCam::save_weights(runner::StateWriter* writer) {
  model_->synchronize_statistics();
  parallel::write_parameters(writer, model_->executor());
  parallel::write_statistics(writer, model_->executor());
}

void DeepCam::load_weights(const runner::StateReader& reader) {
  std::set<std::string> known;
  parallel::read_parameters(reader, model_->executor(), known);
  parallel::read_statistics(reader, model_->executor(), known);
  parallel::refuse_unknown(reader, known);
}

void DeepCam::restore(const base::StateSource& source, std::int64_t steps_done) {
  model_->restore(source, *optimizer_);
  // The order is a function of (seed, epoch): the step is all it needs.
  steps_done_ = steps_done;
  batches_.reset();
}

std::vector<std::string> DeepCam::keys_without_effect() const {
  return {"/staging", "/dataset/decode_threads", "/dataset/prefetch_batches",
          "/dataset/cache_bytes", "/epochs"};
}

runner::StepCost DeepCam::step_cost() const {
  const auto rank = static_cast<std::size_t>(around_.world.rank());
  return parallel::step_cost(network_, split_.slices[rank].count * split_.accumulation);
}

}  // namespace

std::unique_ptr<runner::Workload> make_workload(const runner::RunConfig& config,
                                                const runner::Surroundings& around) {
  return std::make_unique<DeepCam>(config, around);
}

runner::MemoryNeeds memory_needs(const runner::RunConfig& run, const runner::PlannedRank& place) {
  const Config config = parse_config(run.reader);
  const parallel::DataParallelConfig training = data_parallel_config(config, place.ranks);
  const nn::Network network = build_network(config.model);
  runner::MemoryNeeds needs =
      parallel::memory_needs(network, training, place, *make_optimizer(run.reader));
  const auto rank = static_cast<std::size_t>(place.rank);
  // Batches ahead, and the one that is being read: floats, and a byte for each label.
  const std::int64_t samples = (config.data.prefetch_batches + 1) *
                               parallel::split_batch(training, place.ranks).slices[rank].count;
  const std::int64_t points = config.model.height * config.model.width;
  needs.rank["input batches"] =
      samples * points * (config.model.inputs * static_cast<std::int64_t>(sizeof(float)) + 1);
  needs.rank["decoded samples"] = config.data.cache_bytes;
  return needs;
}

}  // namespace deepcam
