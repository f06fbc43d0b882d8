// Timed training steps of a network that classifies images, on images in memory.
#include "workloads/images/bench.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "runner/base/random.h"
#include "workloads/nn/layers/loss.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/parallel/replica_bench.h"

namespace images {
namespace {

constexpr double kLearningRate = 0.1;

/// Normalises a pixel's channel: uniformly distributed values get mean 0 and variance 1.
float value_of(std::uint8_t pixel) {
  constexpr float kMean = 127.5F, kDeviation = 73.9F;  // of 0 ... 255, uniformly distributed
  return (static_cast<float>(pixel) - kMean) / kDeviation;
}

/// The largest divisor of `batch` up to 32: each group is within a rank, so ranks exchange no
/// statistics.
std::int64_t group_size(std::int64_t batch) {
  std::int64_t size = std::min<std::int64_t>(batch, 32);
  while (batch % size != 0) --size;
  return size;
}

parallel::DataParallelConfig training_of(const BenchOptions& options, int ranks) {
  parallel::DataParallelConfig training = parallel::training_of(options.bench, options, ranks);
  training.bn_group_size = group_size(options.batch);
  training.recompute = parallel::recompute_of(options.bench, options);
  return training;
}

class Bench final : public parallel::ReplicaBench {
 public:
  static constexpr std::int64_t kUsualBatch = 32;
  Bench(const BenchOptions& options, const runner::Surroundings& around)
      : ReplicaBench(options.network(options), training_of(options, around.world.size()),
                     nn::make_sgd({}), kLearningRate, options.seed, around),
        options_(options),
        global_batch_(static_cast<double>(options.batch * around.world.size())),
        images_(executor().input().size()),
        labels_(static_cast<std::size_t>(options.batch)) {
    base::RandomStream random(options.seed, base::Purpose::kGenerate, 0,
                              static_cast<std::uint64_t>(around.world.rank()));
    for (std::uint8_t& pixel : images_) pixel = static_cast<std::uint8_t>(random.below(256));
    for (std::int32_t& label : labels_) {
      label = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(options.classes)));
    }
  }
  nlohmann::json facts(parallel::TrainingBench&) override {
    return {{"recompute", options_.recompute},
            {"image_size", options_.image_size},
            {"classes", options_.classes},
            {"bn_group_size", group_size(options_.batch)}};
  }

 private:
  void load() override {
    std::transform(images_.begin(), images_.end(), executor().input().begin(), value_of);
    nn::SampleStreams streams = {options_.seed, 0, {}};
    for (std::size_t i = 0; i < labels_.size(); ++i) streams.samples.push_back(i);
    executor().name_samples(std::move(streams));
  }
  double learn() override {
    return nn::softmax_cross_entropy(executor().outputs(), labels_, 0.1, 1.0 / global_batch_,
                                     executor().output_gradient())
        .loss;
  }

  const BenchOptions& options_;
  const double global_batch_;
  std::vector<std::uint8_t> images_;  ///< as decoded: a quarter of the memory of floats
  std::vector<std::int32_t> labels_;
};

}  // namespace

runner::Bench declare_bench(CLI::App& app, const char* workload,
                            const std::shared_ptr<BenchOptions>& own) {
  own->bench = std::string("bench ") + workload;
  parallel::declare_number(app, "--image-size", own->image_size, 8, 4096,
                           "height and width of the input");
  parallel::declare_number(app, "--classes", own->classes, 2, 1000000, "classes of the output");
  parallel::declare_recompute(app, *own);
  parallel::declare_methods(app, *own);
  return parallel::bench_of<Bench>(workload, own);
}

}  // namespace images
