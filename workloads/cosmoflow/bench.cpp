// Timed training steps on counts in memory.
#include <CLI/CLI.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/random.h"
#include "workloads/cosmoflow/model.h"
#include "workloads/cosmoflow/trainer.h"
#include "workloads/cosmoflow/workload.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/parallel/replica_bench.h"

namespace cosmoflow {
namespace {

struct BenchOptions : parallel::TrainingOptions {
  std::int64_t size = 128;  ///< voxels of a volume along each axis
};

constexpr const char* kBench = "bench cosmoflow";
constexpr double kLearningRate = 0.001;
constexpr const char* kFlopsPerSample =
    "2 x multiply-accumulates of convolutions and matrix products as the model defines them: "
    "forward, gradients of weights, and of data except in the first layer. Gradients of voxels "
    "that are not a maximum are 0 and are not multiplied, so the reported rate may exceed the "
    "CPU's peak";

ModelConfig model_of(const BenchOptions& options) {
  ModelConfig model;
  model.size = options.size;
  const std::int64_t divisor = std::int64_t{1} << model.channels.size();
  if (options.size % divisor != 0) {
    throw base::ConfigError(std::string(kBench) + ": --size: must divide by " +
                            std::to_string(divisor) + ", got " + std::to_string(options.size));
  }
  return model;
}

/// Counts distributed like clumped matter: most voxels have none or one, some have many.
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

class Bench final : public parallel::ReplicaBench {
 public:
  static constexpr std::int64_t kUsualBatch = 2;
  Bench(const BenchOptions& options, const runner::Surroundings& around)
      : ReplicaBench(
            build_network(model_of(options)),
            parallel::training_of(kBench, options, around.world.size()),
            nn::make_sgd({0.9, 0.0, nn::DecayMode::kKerasL2, nn::MomentumForm::kKeras, false}),
            kLearningRate, options.seed, around),
        options_(options),
        values_(static_cast<double>(options.batch * around.world.size() * kTargets)) {
    for (std::int64_t i = 0; i < options.batch; ++i) {
      batch_.push_back(
          random_sample(options.size, around.world.rank() * options.batch + i, options.seed));
    }
  }
  nlohmann::json facts(parallel::TrainingBench&) override {
    return {{"size", options_.size}, {"definitions", {{"flops_per_sample", kFlopsPerSample}}}};
  }

 private:
  void load() override { targets_ = load_batch(batch_, true, options_.seed, 0, executor()); }
  double learn() override {
    return nn::squared_error(executor().outputs(), targets_, kTargets, 1.0 / values_,
                             executor().output_gradient())
               .squared /
           static_cast<double>(kTargets);
  }

  const BenchOptions& options_;
  const double values_;  ///< number of targets on all ranks
  UniverseBatch batch_;
  std::vector<float> targets_;
};

}  // namespace

runner::Bench declare_bench(CLI::App& app) {
  const auto own = std::make_shared<BenchOptions>();
  parallel::declare_number(app, "--size", own->size, 2, 1024,
                           "voxels of the input along each axis");
  parallel::declare_methods(app, *own);
  return parallel::bench_of<Bench>("cosmoflow", own);
}

}  // namespace cosmoflow
