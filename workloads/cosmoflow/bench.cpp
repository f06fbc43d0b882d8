// Timed training steps on counts in memory.
// Hides warm-up and the arithmetic of rates.
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/random.h"
#include "workloads/cosmoflow/model.h"
#include "workloads/cosmoflow/trainer.h"
#include "workloads/cosmoflow/workload.h"
#include "workloads/parallel/method_bench.h"
#include "workloads/parallel/training_bench.h"

namespace cosmoflow {
namespace {

constexpr std::int64_t kUsualBatch = 2;
constexpr double kLearningRate = 0.001;
constexpr const char* kFlopsPerSample =
    "2 x multiply-accumulates of convolutions and matrix products as the model defines them: "
    "forward, gradients of weights, and of data but for the first layer. Gradients of points "
    "that are no maximum are 0 and not multiplied, so that more than the CPU's highest rate "
    "may be reported";

Config config_of(const runner::BenchOptions& options, int ranks) {
  Config config;
  config.model.size = options.size;
  const std::int64_t divisor = std::int64_t{1} << config.model.channels.size();
  if (options.size % divisor != 0) {
    throw base::ConfigError("bench cosmoflow: --size: must divide by " + std::to_string(divisor) +
                            ", got " + std::to_string(options.size));
  }
  config.global_batch_size = options.batch * ranks;
  config.arithmetic = parallel::arithmetic_of("bench cosmoflow", options);
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
        bench_(trainer_.executor(), options_, around_) {
    trainer_.initialize(options.seed, *optimizer_);
    for (std::int64_t i = 0; i < options.batch; ++i) {
      batch_.push_back(
          random_sample(options.size, around.world.rank() * options.batch + i, options.seed));
    }
  }

  nlohmann::json run() {
    bench_.run([this] { return step(); });
    return bench_.report("cosmoflow", {{"size", options_.size},
                                       {"definitions", {{"flops_per_sample", kFlopsPerSample}}}});
  }

 private:
  double step() {
    const double values = static_cast<double>(config_.global_batch_size * kTargets);
    std::vector<float> targets;
    double loss = 0.0;
    trainer_.step(
        [&](std::int64_t) {
          const telemetry::Scope scope(around_.telemetry, telemetry::Subsystem::kInput);
          targets = load_batch(batch_, true, options_.seed, 0, trainer_.executor());
        },
        [&](std::int64_t) {
          nn::Executor& executor = trainer_.executor();
          loss = nn::squared_error(executor.outputs(), targets, kTargets, 1.0 / values,
                                   executor.output_gradient())
                     .squared /
                 static_cast<double>(kTargets);
        },
        *optimizer_, kLearningRate);
    return loss;
  }

  const runner::BenchOptions options_;
  const runner::Surroundings around_;
  const Config config_;
  const nn::Network network_;
  parallel::DataParallel trainer_;
  std::unique_ptr<nn::Optimizer> optimizer_;
  parallel::TrainingBench bench_;
  UniverseBatch batch_;
};

}  // namespace

nlohmann::json run_bench(const runner::BenchOptions& given, const runner::Surroundings& around) {
  return parallel::run_benches(
      parallel::prepare_bench(given, kUsualBatch, around), around,
      [&](const runner::BenchOptions& options) { return Bench(options, around).run(); });
}

}  // namespace cosmoflow
