// The ResNet-50 workload: training steps, evaluation, weights.
#include "workloads/resnet50/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "runner/mllog/benchmarks.h"
#include "runner/mllog/keys.h"
#include "workloads/nn/layers/loss.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/optimizer_config.h"
#include "workloads/parallel/gather_outputs.h"
#include "workloads/parallel/replica.h"
#include "workloads/parallel/replica_workload.h"
#include "workloads/resnet50/config.h"
#include "workloads/resnet50/image_data.h"
#include "workloads/resnet50/log_fields.h"
#include "workloads/resnet50/rule_breaks.h"

namespace resnet50 {
namespace {

parallel::DataParallelConfig data_parallel_config(const Config& config) {
  parallel::DataParallelConfig parallel;
  parallel.global_batch = config.training.global_batch_size;
  parallel.accumulation = config.training.gradient_accumulation_steps;
  parallel.bn_group_size = config.training.bn_group_samples;
  parallel.instruction_set = base::usable_instruction_set();
  parallel.arithmetic = config.training.arithmetic;
  parallel.recompute = config.training.recompute;
  parallel.gradients = config.training.gradients;
  return parallel;
}

std::unique_ptr<nn::Optimizer> make_optimizer(const runner::RunConfig& run) {
  return nn::make_optimizer(run.reader.object("optimizer", "how gradients change weights"));
}

class ResNet50 final : public parallel::ReplicaWorkload {
 public:
  ResNet50(const Config& config, const std::shared_ptr<ImageData>& data,
           const runner::RunConfig& run, const runner::Surroundings& around);

  std::vector<std::pair<std::string, nlohmann::ordered_json>> log_fields() const override {
    return optimizer_log_fields(optimizer().hyperparameters(), schedule(), info().steps_per_epoch,
                                config_.training.bn_group_samples);
  }
  std::vector<std::string> log_tensor_names() const override {
    // The reference names no tensors of v2.
    return config_.model.version == Version::kV2 ? ReplicaWorkload::log_tensor_names()
                                                 : mlperf_tensor_names(config_.model);
  }
  std::map<std::string, std::string> log_settings() const override {
    return resnet50::log_settings();
  }
  std::vector<std::string> model_rule_breaks() const override;
  std::vector<std::string> keys_without_effect() const override;
  /// Opens both sets: class ids may depend on the training set, and log fields depend on its size.
  void open_evaluation_data() override { open_data(); }
  runner::TrainResult train(std::int64_t steps) override;

 private:
  Load training_batches(std::int64_t first_step) override {
    return loading(data_->training_batches(split(), first_step));
  }
  Load evaluation_batches() override {
    return loading(data_->validation_batches(executor().batch()));
  }
  Load loading(std::shared_ptr<staging::Prefetcher> batches);
  parallel::BatchSums learn() override;
  parallel::BatchSums judge(std::int64_t samples) override;
  void send_outputs(runner::OutputSink* sink, std::int64_t first, std::int64_t samples) override;

  const Config config_;
  const std::shared_ptr<ImageData> data_;
  const base::ObjectReader optimizer_section_;
  std::vector<std::int32_t> labels_;
};

ResNet50::ResNet50(const Config& config, const std::shared_ptr<ImageData>& data,
                   const runner::RunConfig& run, const runner::Surroundings& around)
    : ReplicaWorkload({.name = "resnet50",
                       .benchmark = "resnet",
                       .target = mllog::find_benchmark("resnet")->evaluation().target},
                      {build_network(config.model), data_parallel_config(config),
                       make_optimizer(run), parallel::schedule_of(run.reader, config.epochs)},
                      data, run.seed, around),
      config_(config),
      data_(data),
      optimizer_section_(run.reader.object("optimizer", "how gradients change weights")) {}

std::vector<std::string> ResNet50::model_rule_breaks() const {
  Training training{optimizer().hyperparameters(), std::nullopt, schedule()};
  if (training.optimizer.name == "lars") training.lars = nn::parse_lars(optimizer_section_);
  return resnet50::closed_rule_breaks(config_, training);
}

std::vector<std::string> ResNet50::keys_without_effect() const {
  std::vector<std::string> keys = ReplicaWorkload::keys_without_effect();
  keys.emplace_back("/dataset/cache_bytes");
  return keys;
}

ResNet50::Load ResNet50::loading(std::shared_ptr<staging::Prefetcher> batches) {
  return [this, batches = std::move(batches)] {
    const staging::Batch& batch = batches->next();
    std::copy(batch.data.begin(), batch.data.end(), executor().input().begin());
    labels_ = batch.labels;
  };
}

parallel::BatchSums ResNet50::learn() {
  const double scale = 1.0 / static_cast<double>(info().global_batch_size);
  const nn::LossSums sums =
      nn::softmax_cross_entropy(executor().outputs(), labels_, config_.training.label_smoothing,
                                scale, executor().output_gradient());
  return {.loss = sums.loss, .samples = sums.samples};
}

runner::TrainResult ResNet50::train(std::int64_t steps) {
  const runner::TrainResult result = ReplicaWorkload::train(steps);
  if (result.samples == 0) {
    throw base::DataError(fmt::format("{}: none of the samples of {} steps could be decoded",
                                      config_.data.train, steps));
  }
  return result;
}

parallel::BatchSums ResNet50::judge(std::int64_t samples) {
  const nn::LossSums sums = nn::softmax_cross_entropy(executor().outputs(), labels_, 0.0, 1.0, {});
  // Of all samples: one skipped as corrupt counts as misclassified.
  return {.loss = sums.loss,
          .quality = static_cast<double>(sums.correct),
          .counts = samples,
          .samples = sums.samples};
}

void ResNet50::send_outputs(runner::OutputSink* sink, std::int64_t first, std::int64_t samples) {
  parallel::gather_outputs(around().world, sink, first, samples, config_.model.classes,
                           executor().outputs(), labels_);
}

}  // namespace

std::unique_ptr<runner::Workload> make_workload(const runner::RunConfig& run,
                                                const runner::Surroundings& around) {
  const Config config = parse_config(run.reader);
  const auto data = std::make_shared<ImageData>(config, around.world, around.topology,
                                                around.telemetry.clock(), around.threads, run.seed);
  data->expect(parallel::ahead_of(run, around, memory_needs));
  return std::make_unique<ResNet50>(config, data, run, around);
}

runner::MemoryNeeds memory_needs(const runner::RunConfig& run, const runner::PlannedRank& place) {
  const Config config = parse_config(run.reader);
  const parallel::DataParallelConfig training = data_parallel_config(config);
  const nn::Network network = build_network(config.model);
  runner::MemoryNeeds needs =
      parallel::memory_needs(network, training, place, *make_optimizer(run));
  needs.rank["input batches"] = parallel::samples_ahead(config.data, training, place) *
                                network.shape(0).size() * static_cast<std::int64_t>(sizeof(float));
  if (config.data.cache_bytes > 0) needs.rank["decoded samples"] = config.data.cache_bytes;
  if (config.cache.keeps()) {
    needs.rank["cached samples"] = config.cache.memory_bytes / place.node_ranks;
  }
  return needs;
}

}  // namespace resnet50
