// The benchmark: training steps, evaluation, weights.
// Hides how data, engine and optimizer meet.
#include "workloads/resnet50/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/state.h"
#include "runner/base/system_facts.h"
#include "runner/mllog/keys.h"
#include "workloads/nn/loss.h"
#include "workloads/nn/optimizer.h"
#include "workloads/nn/schedule.h"
#include "workloads/parallel/data_parallel.h"
#include "workloads/parallel/gather_outputs.h"
#include "workloads/parallel/replica.h"
#include "workloads/resnet50/config.h"
#include "workloads/resnet50/image_data.h"
#include "workloads/resnet50/log_fields.h"

namespace resnet50 {
namespace {

using telemetry::Counter;
using telemetry::Scope;
using telemetry::Subsystem;

constexpr double kMlperfTarget = 0.759;

parallel::DataParallelConfig data_parallel_config(const Config& config) {
  return {config.training.global_batch_size,
          config.training.gradient_accumulation_steps,
          config.training.bn_group_size,
          base::usable_instruction_set(),
          nn::Mode::kTraining,
          config.training.arithmetic,
          config.training.recompute};
}

class ResNet50 final : public runner::Workload {
 public:
  ResNet50(const runner::RunConfig& run, const runner::Surroundings& around);

  const runner::WorkloadInfo& info() const override { return info_; }
  std::vector<std::pair<std::string, nlohmann::ordered_json>> log_fields() const override;
  std::vector<std::string> log_tensor_names() const override {
    return mlperf_tensor_names(config_.model);
  }
  void open_data() override;
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
  nlohmann::json staging_plan() override { return data_.staging_plan(split_); }
  void clean_up() override;

 private:
  void learn_counts();
  void train_step(double learning_rate);
  void load_batch(staging::Prefetcher& batches);
  std::unique_ptr<staging::Prefetcher> open_evaluation();
  nn::LossSums judge_batch(staging::Prefetcher& batches);
  double correct_share(std::int64_t correct) const;
  void send_outputs(runner::OutputSink* sink, std::int64_t batch,
                    const std::vector<std::int32_t>& labels);
  void count_reads();

  const Config config_;
  const runner::Surroundings around_;
  const std::uint64_t seed_;
  const nn::Network network_;
  const parallel::BatchSplit split_;
  runner::WorkloadInfo info_;
  ImageData data_;
  base::ObjectReader schedule_section_;
  std::unique_ptr<nn::Optimizer> optimizer_;
  std::unique_ptr<nn::Schedule> schedule_;
  std::unique_ptr<parallel::DataParallel> model_;
  std::unique_ptr<staging::Prefetcher> batches_;
  std::vector<std::int32_t> labels_;
  nn::LossSums sums_;
  std::int64_t steps_done_ = 0;
};

ResNet50::ResNet50(const runner::RunConfig& run, const runner::Surroundings& around)
    : config_(parse_config(run.reader)),
      around_(around),
      seed_(run.seed),
      network_(build_network(config_.model)),
      split_(parallel::split_batch(data_parallel_config(config_), around.world.size())),
      data_(config_, around.world, around.topology, around.telemetry.clock(), around.threads,
            run.seed),
      schedule_section_(run.reader.object("schedule", "learning rate by update")),
      optimizer_(
          nn::make_optimizer(run.reader.object("optimizer", "how gradients change weights"))) {
  parallel::use_threads(around.threads);
  info_.name = "resnet50";
  info_.benchmark = "resnet";
  info_.global_batch_size = config_.training.global_batch_size;
  info_.gradient_accumulation_steps = config_.training.gradient_accumulation_steps;
  info_.parameters = network_.parameter_count();
  info_.target = {mllog::keys::kEvalAccuracy, runner::Direction::kRises, kMlperfTarget};
  if (config_.data.counts_known()) learn_counts();
}

void ResNet50::learn_counts() {
  info_.train_samples = data_.train_samples();
  info_.eval_samples = data_.validation_samples();
  info_.steps_per_epoch = data_.steps_per_epoch();
  schedule_ = std::make_unique<nn::Schedule>(nn::parse_schedule(
      schedule_section_, info_.global_batch_size, info_.steps_per_epoch, config_.epochs));
}

void ResNet50::open_data() {
  // With the counts in the configuration, no file is touched before run_start.
  if (config_.data.counts_known()) return;
  data_.open();
  learn_counts();
}

std::vector<std::pair<std::string, nlohmann::ordered_json>> ResNet50::log_fields() const {
  return optimizer_log_fields(optimizer_->hyperparameters(), schedule_->config(),
                              info_.steps_per_epoch, config_.training.bn_group_size);
}

void ResNet50::initialize() {
  model_ = std::make_unique<parallel::DataParallel>(network_, data_parallel_config(config_),
                                                    around_.world, around_.topology.node,
                                                    around_.telemetry);
  model_->initialize(seed_, *optimizer_);
  labels_.resize(static_cast<std::size_t>(model_->local_batch()));
}

void ResNet50::clean_up() {
  batches_.reset();  // its threads read what is about to go
  data_.clean_up();
}

nlohmann::json ResNet50::stage() {
  nlohmann::json facts = data_.stage(split_);
  count_reads();
  return facts;
}

void ResNet50::load_batch(staging::Prefetcher& batches) {
  const Scope scope(around_.telemetry, Subsystem::kInput);
  const staging::Batch& batch = batches.next();
  std::copy(batch.data.begin(), batch.data.end(), model_->executor().input().begin());
  std::copy(batch.labels.begin(), batch.labels.end(), labels_.begin());
}

void ResNet50::train_step(double learning_rate) {
  const double scale = 1.0 / static_cast<double>(info_.global_batch_size);
  const auto load = [this](std::int64_t) { load_batch(*batches_); };
  const auto loss = [this, scale](std::int64_t) {
    nn::Executor& executor = model_->executor();
    const nn::LossSums sums =
        nn::softmax_cross_entropy(executor.outputs(), labels_, config_.training.label_smoothing,
                                  scale, executor.output_gradient());
    sums_.loss += sums.loss;
    sums_.samples += sums.samples;
  };
  model_->step(load, loss, *optimizer_, learning_rate);
}

runner::TrainResult ResNet50::train(std::int64_t steps) {
  if (!batches_) {
    const Scope scope(around_.telemetry, Subsystem::kInput);
    batches_ = data_.training_batches(split_, steps_done_);
  }
  sums_ = {};
  runner::TrainResult result;
  for (std::int64_t step = 0; step < steps; ++step) {
    around_.telemetry.begin_step();
    result.learning_rate = schedule_->learning_rate(steps_done_);
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
  if (result.samples == 0) {
    throw base::DataError(fmt::format("{}: none of the samples of {} steps could be decoded",
                                      config_.data.train, steps));
  }
  result.mean_loss = sums[0] / sums[1];
  return result;
}

void ResNet50::count_reads() {
  const ReadCounts counts = data_.take_counts();
  around_.telemetry.add(Counter::kBytesRead, counts.bytes);
  around_.telemetry.add(Counter::kSkippedSamples, counts.skipped);
  around_.telemetry.add(Counter::kBytesStaged, counts.staged);
}

double ResNet50::correct_share(std::int64_t correct) const {
  around_.world.allreduce_sum(std::span<std::int64_t>(&correct, 1));
  // Of all samples: one that was skipped because it does not decode is not recognised.
  return static_cast<double>(correct) / static_cast<double>(data_.validation_samples());
}

void ResNet50::send_outputs(runner::OutputSink* sink, std::int64_t batch,
                            const std::vector<std::int32_t>& labels) {
  const auto [first, last] = data_.validation_part();
  const std::int64_t begin = std::min(first + batch * model_->local_batch(), last);
  parallel::gather_outputs(around_.world, sink, begin,
                           std::min(model_->local_batch(), last - begin), config_.model.classes,
                           model_->executor().outputs(), labels);
}

std::unique_ptr<staging::Prefetcher> ResNet50::open_evaluation() {
  const Scope scope(around_.telemetry, Subsystem::kInput);
  data_.open_validation();
  info_.eval_samples = data_.validation_samples();
  return data_.validation_batches(model_->local_batch());
}

nn::LossSums ResNet50::judge_batch(staging::Prefetcher& batches) {
  load_batch(batches);
  const Scope scope(around_.telemetry, Subsystem::kForward);
  model_->executor().forward(nn::Mode::kInference);
  return nn::softmax_cross_entropy(model_->executor().outputs(), labels_, 0.0, 1.0, {});
}

double ResNet50::evaluate(runner::OutputSink* outputs) {
  const auto batches = open_evaluation();
  model_->synchronize_statistics();
  const std::int64_t batch_size = model_->local_batch();
  const auto [first, last] = data_.validation_part();
  const std::int64_t mine = (last - first + batch_size - 1) / batch_size;
  // Sending outputs is collective, so that a rank with fewer batches sends empty ones at the end.
  const bool sends = around_.world.allreduce_max(std::int64_t{outputs != nullptr ? 1 : 0}) > 0;
  const std::int64_t rounds = sends ? around_.world.allreduce_max(mine) : mine;
  nn::LossSums sums;
  for (std::int64_t batch = 0; batch < rounds; ++batch) {
    if (batch < mine) {
      const nn::LossSums part = judge_batch(*batches);
      sums.correct += part.correct;
      sums.samples += part.samples;
    }
    if (sends) send_outputs(outputs, batch, labels_);
  }
  around_.telemetry.add(Counter::kEvalSamples, sums.samples);
  count_reads();
  return correct_share(sums.correct);
}

void ResNet50::save_weights(runner::StateWriter* writer) {
  model_->synchronize_statistics();
  parallel::write_parameters(writer, model_->executor());
  parallel::write_statistics(writer, model_->executor());
}

void ResNet50::load_weights(const runner::StateReader& reader) {
  std::set<std::string> known;
  parallel::read_parameters(reader, model_->executor(), known);
  parallel::read_statistics(reader, model_->executor(), known);
  parallel::refuse_unknown(reader, known);
}

void ResNet50::restore(const base::StateSource& source, std::int64_t steps_done) {
  model_->restore(source, *optimizer_);
  // Order and augmentation are functions of (seed, epoch, sample): the step is all they need.
  steps_done_ = steps_done;
  batches_.reset();
}

std::vector<std::string> ResNet50::keys_without_effect() const {
  // More epochs only append steps: where they move the schedule, its decay_epochs differ too.
  return {"/staging", "/dataset/decode_threads", "/dataset/prefetch_batches", "/epochs"};
}

runner::StepCost ResNet50::step_cost() const {
  const auto rank = static_cast<std::size_t>(around_.world.rank());
  return parallel::step_cost(network_, split_.slices[rank].count * split_.accumulation);
}

}  // namespace

std::unique_ptr<runner::Workload> make_workload(const runner::RunConfig& config,
                                                const runner::Surroundings& around) {
  return std::make_unique<ResNet50>(config, around);
}

runner::MemoryNeeds memory_needs(const runner::RunConfig& run, const runner::PlannedRank& place) {
  const Config config = parse_config(run.reader);
  const parallel::DataParallelConfig training = data_parallel_config(config);
  const nn::Network network = build_network(config.model);
  const auto optimizer =
      nn::make_optimizer(run.reader.object("optimizer", "how gradients change weights"));
  runner::MemoryNeeds needs = parallel::memory_needs(network, training, place, *optimizer);
  // Batches ahead, and the one that is being read.
  const std::int64_t samples =
      (config.data.prefetch_batches + 1) * parallel::split_batch(training, place.ranks)
                                               .slices[static_cast<std::size_t>(place.rank)]
                                               .count;
  needs.rank["input batches"] =
      samples * network.shape(0).size() * static_cast<std::int64_t>(sizeof(float));
  return needs;
}

}  // namespace resnet50
