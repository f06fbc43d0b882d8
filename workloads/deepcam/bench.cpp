// Timed training steps on fields in memory.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/random.h"
#include "workloads/deepcam/model.h"
#include "workloads/deepcam/trainer.h"
#include "workloads/deepcam/workload.h"
#include "workloads/optimizer/adaptive_optimizers.h"
#include "workloads/parallel/replica_bench.h"

namespace deepcam {
namespace {

struct BenchOptions : parallel::TrainingOptions {
  std::int64_t height = 768, width = 1152;  ///< of the fields
};

constexpr const char* kBench = "bench deepcam";
constexpr double kLearningRate = 0.001;

ModelConfig model_of(const BenchOptions& options) {
  for (const auto& [name, points] :
       {std::pair("--height", options.height), std::pair("--width", options.width)}) {
    if (points % kResolutions == 0) continue;
    throw base::ConfigError(std::string(kBench) + ": " + name + ": must be a multiple of 16, got " +
                            std::to_string(points));
  }
  ModelConfig model;
  model.height = options.height;
  model.width = options.width;
  return model;
}

/// Batch-norm groups are the samples of a rank.
parallel::DataParallelConfig training_of(const BenchOptions& options, int ranks) {
  parallel::DataParallelConfig training = parallel::training_of(kBench, options, ranks);
  training.bn_group_size = options.batch;
  training.recompute = parallel::recompute_of(kBench, options);
  return training;
}

/// Values over the whole range of the statistics, and storms on few pixels.
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

class Bench final : public parallel::ReplicaBench {
 public:
  static constexpr std::int64_t kUsualBatch = 2;
  Bench(const BenchOptions& options, const runner::Surroundings& around)
      : ReplicaBench(build_network(model_of(options)), training_of(options, around.world.size()),
                     nn::make_lamb({}), kLearningRate, options.seed, around),
        options_(options),
        values_(static_cast<double>(options.batch * around.world.size() * options.height *
                                    options.width)),
        statistics_(unit_statistics()),
        batch_(static_cast<std::size_t>(options.batch)) {
    const ModelConfig model = model_of(options);
    ClimateCache none(0);
    for (std::int64_t i = 0; i < options.batch; ++i) {
      const std::int64_t index = around.world.rank() * options.batch + i;
      batch_[static_cast<std::size_t>(i)].fill(index, none, [&](dataset::ClimateSample& sample) {
        sample = random_sample(model, index, options.seed);
      });
    }
  }
  nlohmann::json facts(parallel::TrainingBench&) override {
    return {
        {"recompute", options_.recompute}, {"height", options_.height}, {"width", options_.width}};
  }

 private:
  void load() override { load_batch(batch_, statistics_, executor()); }
  double learn() override {
    const Scores scores = judge(batch_, 1.0 / values_, executor());
    return scores.loss / static_cast<double>(scores.samples);
  }

  const BenchOptions& options_;
  const double values_;  ///< number of labels on all ranks
  const dataset::ClimateStatistics statistics_;
  ClimateBatch batch_;
};

}  // namespace

runner::Bench declare_bench(CLI::App& app) {
  const auto own = std::make_shared<BenchOptions>();
  parallel::declare_number(app, "--height", own->height, 16, 16384,
                           "points of the input from north to south");
  parallel::declare_number(app, "--width", own->width, 16, 16384,
                           "points of the input from west to east");
  parallel::declare_recompute(app, *own);
  parallel::declare_methods(app, *own);
  return parallel::bench_of<Bench>("deepcam", own);
}

}  // namespace deepcam
