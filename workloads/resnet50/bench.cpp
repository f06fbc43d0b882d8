// Timed training steps on images in memory.
// Hides warm-up and the arithmetic of rates.
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/base/random.h"
#include "runner/base/system_facts.h"
#include "workloads/nn/layers/loss.h"
#include "workloads/parallel/data_parallel.h"
#include "workloads/parallel/method_bench.h"
#include "workloads/parallel/training_bench.h"
#include "workloads/parallel/training_keys.h"
#include "workloads/resnet50/model.h"
#include "workloads/resnet50/workload.h"

namespace resnet50 {
namespace {

constexpr std::int64_t kUsualBatch = 32;
constexpr double kLearningRate = 0.1;

ModelConfig model_of(const runner::BenchOptions& options) {
  ModelConfig model;
  model.image_size = options.image_size;
  model.classes = options.classes;
  return model;
}

/// What a channel of a pixel is to the network: all together have mean 0 and variance 1.
float value_of(std::uint8_t pixel) {
  constexpr float kMean = 127.5F, kDeviation = 73.9F;  // of 0 ... 255, each as often
  return (static_cast<float>(pixel) - kMean) / kDeviation;
}

/// Groups of at most 32 samples within a rank, so that no statistics are exchanged.
std::int64_t group_size(std::int64_t batch) {
  std::int64_t size = std::min<std::int64_t>(batch, 32);
  while (batch % size != 0) --size;
  return size;
}

parallel::DataParallelConfig data_parallel_config(const runner::BenchOptions& options, int ranks) {
  parallel::DataParallelConfig config;
  config.global_batch = options.batch * ranks;
  config.bn_group_size = group_size(options.batch);
  config.instruction_set = base::usable_instruction_set();
  config.arithmetic = parallel::arithmetic_of("bench resnet50", options);
  config.recompute =
      parallel::named("bench resnet50: --recompute", options.recompute, parallel::recomputes());
  return config;
}

class Bench {
 public:
  Bench(const runner::BenchOptions& options, const runner::Surroundings& around)
      : options_(options),
        around_(around),
        network_(build_network(model_of(options))),
        trainer_(network_, data_parallel_config(options, around.world.size()), around.world,
                 around.topology.node, around.telemetry),
        optimizer_(nn::make_sgd({})),
        bench_(trainer_.executor(), options_, around_) {
    nn::Executor& executor = trainer_.executor();
    trainer_.initialize(options.seed, *optimizer_);
    base::RandomStream random(options.seed, base::Purpose::kGenerate, 0,
                              static_cast<std::uint64_t>(around.world.rank()));
    images_.resize(executor.input().size());
    for (std::uint8_t& pixel : images_) pixel = static_cast<std::uint8_t>(random.below(256));
    labels_.resize(static_cast<std::size_t>(options.batch));
    for (auto& label : labels_) {
      label = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(options.classes)));
    }
  }

  nlohmann::json run() {
    bench_.run([this] { return step(); });
    return bench_.report("resnet50", {{"recompute", options_.recompute},
                                      {"image_size", options_.image_size},
                                      {"classes", options_.classes},
                                      {"bn_group_size", group_size(options_.batch)}});
  }

 private:
  double step() {
    const double scale = 1.0 / static_cast<double>(options_.batch * around_.world.size());
    double loss = 0.0;
    trainer_.step(
        [this](std::int64_t) {
          const telemetry::Scope scope(around_.telemetry, telemetry::Subsystem::kInput);
          std::transform(images_.begin(), images_.end(), trainer_.executor().input().begin(),
                         value_of);
        },
        [&](std::int64_t) {
          nn::Executor& executor = trainer_.executor();
          loss = nn::softmax_cross_entropy(executor.outputs(), labels_, 0.1, scale,
                                           executor.output_gradient())
                     .loss;
        },
        *optimizer_, kLearningRate);
    return loss;
  }

  const runner::BenchOptions options_;
  const runner::Surroundings around_;
  const nn::Network network_;
  parallel::DataParallel trainer_;
  std::unique_ptr<nn::Optimizer> optimizer_;
  parallel::TrainingBench bench_;
  std::vector<std::uint8_t> images_;  ///< as decoders give them: a quarter of floats' memory
  std::vector<std::int32_t> labels_;
};

}  // namespace

nlohmann::json run_bench(const runner::BenchOptions& given, const runner::Surroundings& around) {
  return parallel::run_benches(
      parallel::prepare_bench(given, kUsualBatch, around), around,
      [&](const runner::BenchOptions& options) { return Bench(options, around).run(); });
}

}  // namespace resnet50
