// Timed training steps on points in memory.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "workloads/example/config.h"
#include "workloads/example/points.h"
#include "workloads/example/workload.h"
#include "workloads/nn/layers/loss.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/parallel/replica_bench.h"

namespace example {
namespace {

struct BenchOptions : parallel::TrainingOptions {
  std::int64_t hidden = kUsualHidden;
};

constexpr double kLearningRate = 0.1;

class Bench final : public parallel::ReplicaBench {
 public:
  static constexpr std::int64_t kUsualBatch = 256;
  Bench(const BenchOptions& options, const runner::Surroundings& around)
      : ReplicaBench(build_network(options.hidden),
                     parallel::training_of("bench example", options, around.world.size()),
                     nn::make_sgd({}), kLearningRate, options.seed, around),
        options_(options),
        global_batch_(static_cast<double>(options.batch * around.world.size())) {
    for (std::int64_t i = 0; i < options.batch; ++i) {
      const std::int64_t index = around.world.rank() * options.batch + i;
      const Point point = draw_point(options.seed, Set::kBench, index);
      inputs_.insert(inputs_.end(), {point.x, point.y});
      labels_.push_back(point.label);
    }
  }
  nlohmann::json facts(parallel::TrainingBench&) override { return {{"hidden", options_.hidden}}; }

 private:
  void load() override { std::copy(inputs_.begin(), inputs_.end(), executor().input().begin()); }
  double learn() override {
    return nn::softmax_cross_entropy(executor().outputs(), labels_, 0.0, 1.0 / global_batch_,
                                     executor().output_gradient())
        .loss;
  }

  const BenchOptions& options_;
  const double global_batch_;
  std::vector<float> inputs_;
  std::vector<std::int32_t> labels_;
};

}  // namespace

runner::Bench declare_bench(CLI::App& app) {
  const auto own = std::make_shared<BenchOptions>();
  parallel::declare_number(app, "--hidden", own->hidden, 1, 4096, "outputs of the first layer");
  return parallel::bench_of<Bench>("example", own);
}

}  // namespace example
