// Timed training steps on counts in memory.
// Hides warm-up and the arithmetic of rates.
#include <omp.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/random.h"
#include "workloads/cosmoflow/model.h"
#include "workloads/cosmoflow/trainer.h"
#include "workloads/cosmoflow/workload.h"
#include "workloads/parallel/layer_bench.h"
#include "workloads/parallel/step_times.h"

namespace cosmoflow {
namespace {

constexpr std::int64_t kUsualBatch = 2;
constexpr double kLearningRate = 0.001;

Config config_of(const runner::BenchOptions& options, int ranks) {
  Config config;
  config.model.size = options.size;
  const std::int64_t divisor = std::int64_t{1} << config.model.channels.size();
  if (options.size % divisor != 0) {
    throw base::ConfigError("bench cosmoflow: --size: must divide by " + std::to_string(divisor) +
                            ", got " + std::to_string(options.size));
  }
  config.global_batch_size = options.batch * ranks;
  config.precision =
      parallel::named("bench cosmoflow: --precision", options.precision, parallel::precisions());
  return config;
}

/// Counts as matter that clumps has them: most voxels hold none or one, some many.
UniverseSample random_sample(std::int64_t size, std::int64_t index, std::uint64_t seed) {
  constexpr double kSpread = 1.2;
  base::RandomStream random(seed, base::Purpose::kGenerate, 0, static_cast<std::uint64_t>(index));
  UniverseSample sample;
  sample.index = index;
  sample.universe.extents = {size, size, size};
  sample.universe.channels = ModelConfig().redshifts;
  sample.universe.counts.resize(
      static_cast<std::size_t>(size * size * size * sample.universe.channels));
  for (std::int16_t& count : sample.universe.counts) {
    count = static_cast<std::int16_t>(std::exp(kSpread * random.normal() - kSpread / 2.0));
  }
  for (float& target : sample.universe.targets) {
    target = static_cast<float>(random.uniform(-1.0, 1.0));
  }
  return sample;
}

class Bench {
 public:
  Bench(const runner::BenchOptions& options, const runner::Surroundings& around)
      : options_(options),
        around_(around),
        config_(config_of(options, around.world.size())),
        network_(build_network(config_.model)),
        trainer_(network_, data_parallel_config(config_), around.world, around.topology.node,
                 around.telemetry),
        optimizer_(
            nn::make_sgd({0.9, 0.0, nn::DecayMode::kKerasL2, nn::MomentumForm::kKeras, false})),
        layers_(network_, options.batch, config_.precision, options_, around.world) {
    trainer_.initialize(options.seed, *optimizer_);
    for (std::int64_t i = 0; i < options.batch; ++i) {
      batch_.push_back(
          random_sample(options.size, around.world.rank() * options.batch + i, options.seed));
    }
  }

  nlohmann::json run() {
    parallel::StepTimes times(around_);
    for (std::int64_t i = 0; i < options_.warmup_steps; ++i) step();
    times.begin();
    if (options_.layers) trainer_.executor().time_layers();
    for (std::int64_t i = 0; i < options_.steps; ++i) {
      times.time([this] { step(); });
      layers_.measure();
    }
    return report(times);
  }

 private:
  void step() {
    const double values = static_cast<double>(config_.global_batch_size * kTargets);
    std::vector<float> targets;
    trainer_.step(
        [&](std::int64_t) {
          const telemetry::Scope scope(around_.telemetry, telemetry::Subsystem::kInput);
          targets = load_batch(batch_, true, options_.seed, 0, trainer_.executor());
        },
        [&](std::int64_t) {
          nn::Executor& executor = trainer_.executor();
          loss_ = nn::squared_error(executor.outputs(), targets, kTargets, 1.0 / values,
                                    executor.output_gradient())
                      .squared /
                  static_cast<double>(kTargets);
        },
        *optimizer_, kLearningRate);
  }

  nlohmann::json report(const parallel::StepTimes& times) {
    const auto samples = static_cast<double>(config_.global_batch_size);
    const double samples_per_s = samples / times.median_s();
    nlohmann::json result = {{"workload", "cosmoflow"},
                             {"batch_per_rank", options_.batch},
                             {"precision", options_.precision},
                             {"size", options_.size},
                             {"steps", options_.steps},
                             {"warmup_steps", options_.warmup_steps},
                             {"definitions", nlohmann::json::object()}};
    parallel::add_training_facts(trainer_.executor(), network_.parameter_count(), samples_per_s,
                                 loss_, result);
    result["definitions"]["flops_per_sample"] =
        "2 x multiply-accumulates of convolutions and matrix products as the model defines them: "
        "forward, gradients of weights, and of data but for the first layer. Gradients of points "
        "that are no maximum are 0 and not multiplied, so that more than the CPU's highest rate "
        "may be reported";
    times.add_to(result);
    layers_.finish(trainer_.executor(), samples_per_s, result);
    return result;
  }

  const runner::BenchOptions options_;
  const runner::Surroundings around_;
  const Config config_;
  const nn::Network network_;
  parallel::DataParallel trainer_;
  std::unique_ptr<nn::Optimizer> optimizer_;
  parallel::LayerBench layers_;
  UniverseBatch batch_;
  double loss_ = 0.0;
};

}  // namespace

nlohmann::json run_bench(const runner::BenchOptions& given, const runner::Surroundings& around) {
  runner::BenchOptions options = given;
  if (options.batch == 0) options.batch = kUsualBatch;
  omp_set_dynamic(0);
  omp_set_num_threads(around.threads);
  return Bench(options, around).run();
}

}  // namespace cosmoflow
