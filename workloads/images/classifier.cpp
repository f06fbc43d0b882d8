// Training steps and evaluation of a network that classifies images.
#include "workloads/images/classifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runner/base/error.h"
#include "workloads/nn/layers/loss.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/optimizer_config.h"
#include "workloads/parallel/gather_outputs.h"
#include "workloads/parallel/replica.h"

namespace images {

std::unique_ptr<nn::Optimizer> make_optimizer(const runner::RunConfig& run) {
  return nn::make_optimizer(run.reader.object("optimizer", "how gradients change weights"));
}

std::shared_ptr<ImageData> open_images(const Config& config, const runner::RunConfig& run,
                                       const runner::Surroundings& around,
                                       runner::MemoryNeeds (*needs)(const runner::RunConfig&,
                                                                    const runner::PlannedRank&)) {
  auto data = std::make_shared<ImageData>(config, around.world, around.topology,
                                          around.telemetry.clock(), around.threads, run.seed);
  data->expect(parallel::ahead_of(run, around, needs));
  return data;
}

runner::MemoryNeeds memory_needs(const nn::Network& network, const Config& config,
                                 const runner::RunConfig& run, const runner::PlannedRank& place) {
  const parallel::DataParallelConfig training = data_parallel_config(config);
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

runner::TrainingScale training_scale(const nn::Network& network, const Config& config,
                                     const runner::PlannedRank& place) {
  return parallel::training_scale(network, data_parallel_config(config), config.data, place);
}

Classifier::Classifier(runner::WorkloadInfo info, nn::Network network, const Config& config,
                       const std::shared_ptr<ImageData>& data, const runner::RunConfig& run,
                       const runner::Surroundings& around)
    : ReplicaWorkload(std::move(info),
                      {std::move(network), data_parallel_config(config), make_optimizer(run),
                       parallel::schedule_of(run.reader, config.epochs)},
                      data, run.seed, around),
      config_(config),
      data_(data) {}

std::vector<std::string> Classifier::keys_without_effect() const {
  std::vector<std::string> keys = ReplicaWorkload::keys_without_effect();
  keys.emplace_back("/dataset/cache_bytes");
  return keys;
}

Classifier::Load Classifier::training_batches(std::int64_t first_step) {
  const std::shared_ptr<staging::Prefetcher> batches = data_->training_batches(split(), first_step);
  return [this, batches] {
    const staging::Batch& batch = batches->next();
    take(batch);
    executor().name_samples(data_->streams_of(split(), batch.number));
  };
}

Classifier::Load Classifier::evaluation_batches() {
  const std::shared_ptr<staging::Prefetcher> batches =
      data_->validation_batches(executor().batch());
  return [this, batches] { take(batches->next()); };
}

void Classifier::take(const staging::Batch& batch) {
  std::copy(batch.data.begin(), batch.data.end(), executor().input().begin());
  labels_ = batch.labels;
}

parallel::BatchSums Classifier::learn() {
  const double scale = 1.0 / static_cast<double>(info().global_batch_size);
  const nn::LossSums sums =
      nn::softmax_cross_entropy(executor().outputs(), labels_, config_.training.label_smoothing,
                                scale, executor().output_gradient());
  return {.loss = sums.loss, .samples = sums.samples};
}

runner::TrainResult Classifier::train(std::int64_t steps) {
  const runner::TrainResult result = ReplicaWorkload::train(steps);
  if (result.samples == 0) {
    throw base::DataError(fmt::format("{}: none of the samples of {} steps could be decoded",
                                      config_.data.train, steps));
  }
  return result;
}

parallel::BatchSums Classifier::judge(std::int64_t samples) {
  const nn::LossSums sums = nn::softmax_cross_entropy(executor().outputs(), labels_, 0.0, 1.0, {});
  // Of all samples: one skipped as corrupt counts as misclassified.
  return {.loss = sums.loss,
          .quality = static_cast<double>(sums.correct),
          .counts = samples,
          .samples = sums.samples};
}

void Classifier::send_outputs(runner::OutputSink* sink, std::int64_t first, std::int64_t samples) {
  parallel::gather_outputs(around().world, sink, first, samples, config_.model.classes,
                           executor().outputs(), labels_);
}

}  // namespace images
