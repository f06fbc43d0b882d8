// Timed training steps on fields in memory.
// Hides warm-up and the arithmetic of rates.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/random.h"
#include "workloads/deepcam/config.h"
#include "workloads/deepcam/trainer.h"
#include "workloads/deepcam/workload.h"
#include "workloads/optimizer/adaptive_optimizers.h"
#include "workloads/parallel/method_bench.h"
#include "workloads/parallel/training_bench.h"

namespace deepcam {
namespace {

constexpr std::int64_t kUsualBatch = 2;
constexpr std::int64_t kResolutions = 16;
constexpr double kLearningRate = 0.001;

Config config_of(const runner::BenchOptions& options, int ranks) {
  Config config;
  config.model.height = options.height;
  config.model.width = options.width;
  for (const auto& [name, points] :
       {std::pair("--height", options.height), std::pair("--width", options.width)}) {
    if (points % kResolutions == 0) continue;
    throw base::ConfigError("bench deepcam: " + std::string(name) +
                            ": must be a multiple of 16, got " + std::to_string(points));
  }
  config.global_batch_size = options.batch * ranks;
  config.arithmetic = parallel::arithmetic_of("bench deepcam", options);
  config.recompute =
      parallel::named("bench deepcam: --recompute", options.recompute, parallel::recomputes());
  return config;
}

/// Values over the range of the statistics, and storms on few points.
dataset::ClimateSample random_sample(const ModelConfig& model, std::int64_t index,
                                     std::uint64_t seed) {
  constexpr double kStorms = 0.02;
  base::RandomStream random(seed, base::Purpose::kGenerate, 0, static_cast<std::uint64_t>(index));
  dataset::ClimateSample sample = {model.height, model.width, model.inputs, {}, {}};
  const std::int64_t points = model.height * model.width;
  sample.values.resize(static_cast<std::size_t>(points * model.inputs));
  for (float& value : sample.values) value = static_cast<float>(random.uniform(0.0, 1.0));
  sample.labels.resize(static_cast<std::size_t>(points));
  for (std::uint8_t& label : sample.labels) {
    label = random.uniform(0.0, 1.0) < kStorms ? static_cast<std::uint8_t>(1 + random.below(2)) : 0;
  }
  return sample;
}

dataset::ClimateStatistics unit_statistics() {
  dataset::ClimateStatistics statistics;
  statistics.maxval.fill(1.0F);
  return statistics;
}

class Bench {
 public:
  Bench(const runner::BenchOptions& options, const runner::Surroundings& around)
      : options_(options),
        around_(around),
        config_(config_of(options, around.world.size())),
        network_(build_network(config_.model)),
        trainer_(network_, data_parallel_config(config_, around.world.size()), around.world,
                 around.topology.node, around.telemetry),
        optimizer_(nn::make_lamb({})),
        statistics_(unit_statistics()),
        bench_(trainer_.executor(), options_, around_),
        batch_(static_cast<std::size_t>(options.batch)) {
    trainer_.initialize(options.seed, *optimizer_);
    ClimateCache none(0);
    for (std::int64_t i = 0; i < options.batch; ++i) {
      const std::int64_t index = around.world.rank() * options.batch + i;
      batch_[static_cast<std::size_t>(i)].fill(index, none, [&](dataset::ClimateSample& sample) {
        sample = random_sample(config_.model, index, options.seed);
      });
    }
  }

  nlohmann::json run() {
    bench_.run([this] { return step(); });
    return bench_.report("deepcam", {{"recompute", options_.recompute},
                                     {"height", options_.height},
                                     {"width", options_.width}});
  }

 private:
  double step() {
    const std::int64_t points = config_.model.height * config_.model.width;
    const double scale = 1.0 / static_cast<double>(config_.global_batch_size * points);
    double loss = 0.0;
    trainer_.step(
        [&](std::int64_t) {
          const telemetry::Scope scope(around_.telemetry, telemetry::Subsystem::kInput);
          load_batch(batch_, statistics_, trainer_.executor());
        },
        [&](std::int64_t) {
          const Scores scores = judge(batch_, scale, trainer_.executor());
          loss = scores.loss / static_cast<double>(scores.samples);
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
  const dataset::ClimateStatistics statistics_;
  parallel::TrainingBench bench_;
  ClimateBatch batch_;
};

}  // namespace

nlohmann::json run_bench(const runner::BenchOptions& given, const runner::Surroundings& around) {
  return parallel::run_benches(
      parallel::prepare_bench(given, kUsualBatch, around), around,
      [&](const runner::BenchOptions& options) { return Bench(options, around).run(); });
}

}  // namespace deepcam
