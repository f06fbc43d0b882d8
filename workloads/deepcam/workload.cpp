// The DeepCAM workload: training steps, evaluation, weights.
#include "workloads/deepcam/workload.h"

#include <utility>

#include "runner/mllog/benchmarks.h"
#include "runner/mllog/keys.h"
#include "workloads/deepcam/climate_data.h"
#include "workloads/deepcam/config.h"
#include "workloads/deepcam/log_fields.h"
#include "workloads/deepcam/trainer.h"
#include "workloads/optimizer/optimizer_config.h"
#include "workloads/parallel/gather_outputs.h"
#include "workloads/parallel/replica.h"
#include "workloads/parallel/replica_workload.h"
#include "workloads/parallel/training_scale.h"

namespace deepcam {
namespace {

class DeepCam final : public parallel::ReplicaWorkload {
 public:
  DeepCam(const Config& config, const std::shared_ptr<ClimateData>& data,
          const runner::RunConfig& run, const runner::Surroundings& around);

  LogFields log_fields() const override {
    return deepcam::log_fields(config_, optimizer().hyperparameters());
  }
  std::vector<std::string> keys_without_effect() const override;
  std::map<std::string, std::string> log_settings() const override {
    return deepcam::log_settings();
  }
  std::vector<std::string> model_rule_breaks() const override {
    return deepcam::closed_rule_breaks(config_);
  }

 private:
  Load training_batches(std::int64_t first_step) override {
    return loading(data_->training_batches(split(), first_step));
  }
  Load evaluation_batches() override {
    return loading(data_->validation_batches(executor().batch()));
  }
  Load loading(std::shared_ptr<ClimateBatches> batches);
  parallel::BatchSums learn() override;
  parallel::BatchSums judge(std::int64_t samples) override;
  void send_outputs(runner::OutputSink* sink, std::int64_t first, std::int64_t samples) override;
  std::int64_t points() const { return config_.model.height * config_.model.width; }

  const Config config_;
  const std::shared_ptr<ClimateData> data_;
  const ClimateBatch* batch_ = nullptr;  ///< in the executor; owned by the current batches
};

DeepCam::DeepCam(const Config& config, const std::shared_ptr<ClimateData>& data,
                 const runner::RunConfig& run, const runner::Surroundings& around)
    : ReplicaWorkload(
          {.name = "deepcam",
           .benchmark = "deepcam",
           .norm_group_samples = data_parallel_config(config, around.world.size()).bn_group_size,
           .target = mllog::find_benchmark("deepcam")->evaluation().target},
          {build_network(config.model), data_parallel_config(config, around.world.size()),
           make_optimizer(run.reader),
           [schedule = nn::Schedule(config.schedule)](const runner::WorkloadInfo&) {
             return schedule;
           }},
          data, run.seed, around),
      config_(config),
      data_(data) {}

DeepCam::Load DeepCam::loading(std::shared_ptr<ClimateBatches> batches) {
  return [this, batches = std::move(batches)] {
    batch_ = &batches->next();
    load_batch(*batch_, data_->statistics(), executor());
  };
}

parallel::BatchSums DeepCam::learn() {
  const double scale = 1.0 / static_cast<double>(info().global_batch_size * points());
  const Scores scores = deepcam::judge(*batch_, scale, executor());
  return {.loss = scores.loss, .samples = scores.samples};
}

parallel::BatchSums DeepCam::judge(std::int64_t /*samples*/) {
  const Scores scores = deepcam::judge(*batch_, 0.0, executor(), config_.iou);
  return {.loss = scores.loss,
          .quality = scores.iou,
          .counts = scores.counts,
          .samples = scores.samples};
}

void DeepCam::send_outputs(runner::OutputSink* sink, std::int64_t first, std::int64_t samples) {
  std::vector<float> labels;
  for (std::int64_t slot = 0; slot < samples; ++slot) {
    const auto& each = (*batch_)[static_cast<std::size_t>(slot)].sample().labels;
    labels.insert(labels.end(), each.begin(), each.end());
  }
  parallel::gather_outputs(around().world, sink, first, samples, kClasses * points(),
                           executor().outputs(), points(), labels);
}

std::vector<std::string> DeepCam::keys_without_effect() const {
  std::vector<std::string> keys = ReplicaWorkload::keys_without_effect();
  keys.emplace_back("/dataset/cache_bytes");
  // Given in ranks; the resulting number of samples is recorded separately.
  keys.emplace_back("/training/bn_group_ranks");
  return keys;
}

}  // namespace

std::unique_ptr<runner::Workload> make_workload(const runner::RunConfig& run,
                                                const runner::Surroundings& around) {
  const Config config = parse_config(run.reader);
  const auto data = std::make_shared<ClimateData>(
      config.data, config.staging, config.cache, config.global_batch_size, config.epochs,
      config.model.height, config.model.width, around.world, around.topology,
      around.telemetry.clock(), around.threads, run.seed);
  data->expect(parallel::ahead_of(run, around, memory_needs));
  return std::make_unique<DeepCam>(config, data, run, around);
}

runner::MemoryNeeds memory_needs(const runner::RunConfig& run, const runner::PlannedRank& place) {
  const Config config = parse_config(run.reader);
  const parallel::DataParallelConfig training = data_parallel_config(config, place.ranks);
  const nn::Network network = build_network(config.model);
  runner::MemoryNeeds needs =
      parallel::memory_needs(network, training, place, *make_optimizer(run.reader));
  // Floats, and a byte for each label.
  const std::int64_t point_bytes =
      config.model.inputs * static_cast<std::int64_t>(sizeof(float)) + 1;
  needs.rank["input batches"] = parallel::samples_ahead(config.data, training, place) *
                                config.model.height * config.model.width * point_bytes;
  needs.rank["decoded samples"] = config.data.cache_bytes;
  if (config.cache.keeps()) {
    needs.rank["cached samples"] = config.cache.memory_bytes / place.node_ranks;
  }
  return needs;
}

runner::TrainingScale training_scale(const runner::RunConfig& run,
                                     const runner::PlannedRank& place) {
  const Config config = parse_config(run.reader);
  return parallel::training_scale(build_network(config.model),
                                  data_parallel_config(config, place.ranks), config.data, place);
}

}  // namespace deepcam
