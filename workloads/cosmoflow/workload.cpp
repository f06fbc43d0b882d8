// The CosmoFlow workload: training steps, evaluation, weights.
#include "workloads/cosmoflow/workload.h"

#include "runner/mllog/benchmarks.h"
#include "runner/mllog/keys.h"
#include "workloads/cosmoflow/config.h"
#include "workloads/cosmoflow/log_fields.h"
#include "workloads/cosmoflow/split_plan.h"
#include "workloads/cosmoflow/trainer.h"
#include "workloads/cosmoflow/universe_data.h"
#include "workloads/optimizer/optimizer_config.h"
#include "workloads/parallel/gather_outputs.h"
#include "workloads/parallel/group_volumes.h"
#include "workloads/parallel/replica_workload.h"
#include "workloads/parallel/training_scale.h"

namespace cosmoflow {
namespace {

SplitChoice choice_of(const runner::RunConfig& run, const runner::PlannedRank& place) {
  return choose_split(parse_config(run.reader), *make_optimizer(run.reader), place);
}

/// The configuration with the chosen split.
Config planned_config(const runner::RunConfig& run, const Split& split) {
  Config config = parse_config(run.reader);
  config.split = split;
  return config;
}

/// Collective. Nodes may differ in threads, and all ranks must choose the same split.
runner::PlannedRank place_of(const runner::Surroundings& around) {
  const std::int64_t threads = around.world.allreduce_max(std::int64_t{around.threads});
  return {around.world.rank(), around.world.size(), around.topology.node.size(),
          static_cast<int>(threads)};
}

/// Consecutive ranks form a group; each rank has one box of the group's samples.
DataShare share_of(const Config& config, const runner::Communicator& world) {
  const Split& split = config.split;
  const std::int64_t size = config.model.size, part = world.rank() % split.parts();
  const std::int64_t depth = size / split.depth, height = size / split.height;
  return {world.rank() / split.parts(),
          world.size() / split.parts(),
          {{part / split.height * depth, part % split.height * height, 0}, {depth, height, size}}};
}

class CosmoFlow final : public parallel::ReplicaWorkload {
 public:
  /// `config` contains the chosen split.
  CosmoFlow(const SplitChoice& choice, const Config& config,
            const std::shared_ptr<UniverseData>& data, const runner::RunConfig& run,
            const runner::Surroundings& around);

  LogFields log_fields() const override {
    return cosmoflow::log_fields(config_, optimizer().hyperparameters());
  }
  void initialize() override;
  std::vector<std::string> keys_without_effect() const override;
  std::map<std::string, std::string> log_settings() const override {
    return cosmoflow::log_settings();
  }
  std::vector<std::string> model_rule_breaks() const override {
    return cosmoflow::closed_rule_breaks(config_, optimizer().hyperparameters());
  }
  nlohmann::json placement_plan() override;

 private:
  Load training_batches(std::int64_t first_step) override;
  Load evaluation_batches() override;
  void load(const UniverseBatch& batch, std::int64_t epoch) {
    targets_ = load_batch(batch, config_.data.apply_log, seed(), epoch, executor());
  }
  std::int64_t epoch_of(std::int64_t step) const { return step / info().steps_per_epoch; }
  parallel::BatchSums learn() override;
  parallel::BatchSums judge(std::int64_t samples) override;
  void send_outputs(runner::OutputSink* sink, std::int64_t first, std::int64_t samples) override;

  const SplitChoice choice_;
  const Config config_;
  const std::shared_ptr<UniverseData> data_;
  std::vector<float> targets_;
};

CosmoFlow::CosmoFlow(const SplitChoice& choice, const Config& config,
                     const std::shared_ptr<UniverseData>& data, const runner::RunConfig& run,
                     const runner::Surroundings& around)
    : ReplicaWorkload({.name = "cosmoflow",
                       .benchmark = "cosmoflow",
                       .target = mllog::find_benchmark("cosmoflow")->evaluation().target},
                      {build_network(config.model, config.split), data_parallel_config(config),
                       make_optimizer(run.reader),
                       [schedule = nn::Schedule(config.schedule)](const runner::WorkloadInfo&) {
                         return schedule;
                       }},
                      data, run.seed, around),
      choice_(choice),
      config_(config),
      data_(data) {}

void CosmoFlow::initialize() {
  if (config_.split.parts() > 1) {
    share_volumes(std::make_unique<parallel::GroupVolumes>(
        around().world, config_.split.depth, config_.split.height, around().telemetry));
  }
  ReplicaWorkload::initialize();
}

nlohmann::json CosmoFlow::placement_plan() {
  if (config_.split.parts() == 1) return nullptr;
  return {{"sample_split", to_json(choice_)}};
}

CosmoFlow::Load CosmoFlow::training_batches(std::int64_t first_step) {
  const std::shared_ptr<UniverseBatches> batches = data_->training_batches(split(), first_step);
  return [this, batches] { load(batches->next(), epoch_of(steps_done())); };
}

CosmoFlow::Load CosmoFlow::evaluation_batches() {
  const std::shared_ptr<UniverseBatches> batches = data_->validation_batches(executor().batch());
  return [this, batches] { load(batches->next(), 0); };
}

/// Errors are sums over kTargets targets per sample. Dividing by kTargets is exact, since it is a
/// power of two.
parallel::BatchSums CosmoFlow::learn() {
  // Each of the ranks that share a sample computes its loss.
  const double scale =
      1.0 / static_cast<double>(info().global_batch_size * kTargets * config_.split.parts());
  const nn::ErrorSums sums = nn::squared_error(executor().outputs(), targets_, kTargets, scale,
                                               executor().output_gradient());
  return {.loss = sums.squared / static_cast<double>(kTargets), .samples = sums.values / kTargets};
}

parallel::BatchSums CosmoFlow::judge(std::int64_t samples) {
  const nn::ErrorSums sums = nn::squared_error(executor().outputs(), targets_, kTargets, 0.0, {});
  return {.loss = sums.squared,
          .quality = sums.absolute / static_cast<double>(kTargets),
          .counts = samples,
          .samples = samples};
}

void CosmoFlow::send_outputs(runner::OutputSink* sink, std::int64_t first, std::int64_t samples) {
  parallel::gather_outputs(around().world, sink, first, samples, kTargets, executor().outputs(),
                           kTargets, targets_);
}

std::vector<std::string> CosmoFlow::keys_without_effect() const {
  std::vector<std::string> keys = ReplicaWorkload::keys_without_effect();
  keys.emplace_back("/dataset/cache_bytes");
  if (!config_.chooses_split) keys.emplace_back("/training/memory_limit_gib");
  return keys;
}

}  // namespace

std::unique_ptr<runner::Workload> make_workload(const runner::RunConfig& run,
                                                const runner::Surroundings& around) {
  const SplitChoice choice = choice_of(run, place_of(around));
  const Config config = planned_config(run, choice.split);
  const auto data = std::make_shared<UniverseData>(config, around.world, around.topology,
                                                   around.telemetry.clock(), around.threads,
                                                   run.seed, share_of(config, around.world));
  data->expect(parallel::ahead_of(run, around, memory_needs));
  return std::make_unique<CosmoFlow>(choice, config, data, run, around);
}

runner::MemoryNeeds memory_needs(const runner::RunConfig& run, const runner::PlannedRank& place) {
  const Config config = planned_config(run, choice_of(run, place).split);
  return memory_of(config, *make_optimizer(run.reader), place);
}

runner::TrainingScale training_scale(const runner::RunConfig& run,
                                     const runner::PlannedRank& place) {
  const Config config = planned_config(run, choice_of(run, place).split);
  return parallel::training_scale(build_network(config.model, config.split),
                                  data_parallel_config(config), config.data, place);
}

}  // namespace cosmoflow
