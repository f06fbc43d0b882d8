// The example workload: training steps, evaluation, weights.
#include "workloads/example/workload.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runner/mllog/keys.h"
#include "runner/together.h"
#include "workloads/example/config.h"
#include "workloads/example/points.h"
#include "workloads/nn/layers/loss.h"
#include "workloads/optimizer/optimizer_config.h"
#include "workloads/parallel/gather_outputs.h"
#include "workloads/parallel/replica.h"
#include "workloads/parallel/replica_workload.h"
#include "workloads/parallel/sample_sets.h"

namespace example {
namespace {

namespace keys = mllog::keys;

constexpr double kTarget = 0.97;  ///< share of points classified correctly
constexpr std::int32_t kNoSample = -1;

std::shared_ptr<parallel::SampleSets> open_sets(const Config& config, std::uint64_t seed,
                                                const runner::Surroundings& around) {
  const runner::Communicator& world = around.world;
  const auto open = [&world](const std::string& path) {
    std::shared_ptr<const PointFile> file;
    runner::together(world, [&] { file = std::make_shared<const PointFile>(path); });
    return file;
  };
  return std::make_shared<parallel::SampleSets>(
      parallel::SampleSetsConfig{.read = config.read,
                                 .global_batch_size = config.global_batch_size,
                                 .epochs = config.epochs,
                                 .seed = seed,
                                 .staging = config.staging,
                                 .group = world.rank(),
                                 .groups = world.size()},
      parallel::SampleSets::by_path(config.train, config.validation, open), world, around.topology,
      around.telemetry.clock());
}

class Example final : public parallel::ReplicaWorkload {
 public:
  Example(const Config& config, const std::shared_ptr<parallel::SampleSets>& sets,
          const runner::RunConfig& run, const runner::Surroundings& around)
      : ReplicaWorkload(
            {.name = "example",
             .benchmark = "example",
             .target = {keys::kEvalAccuracy, {{"", "", mllog::Direction::kRises, kTarget}}}},
            {build_network(config.hidden), training_of(config), make_optimizer(run.reader),
             [rate = config.learning_rate](const runner::WorkloadInfo&) {
               return nn::Schedule({.peak = rate, .warmup = {}, .decay = {}});
             }},
            sets, run.seed, around),
        config_(config),
        sets_(sets) {}

  std::vector<std::pair<std::string, nlohmann::ordered_json>> log_fields() const override {
    return {{keys::kOptName, optimizer().hyperparameters().name},
            {keys::kOptLearningRate, config_.learning_rate}};
  }

 private:
  Load training_batches(std::int64_t first_step) override {
    sets_->open();
    return [this, batch = parallel::SampleSets::first_batch(split(), first_step)]() mutable {
      load(*sets_->train(),
           [&](std::int64_t slot) { return sets_->training_place(split(), batch, slot).index; });
      ++batch;
    };
  }
  Load evaluation_batches() override {
    return [this, batch = std::int64_t{0}]() mutable {
      load(*sets_->validation(), [&](std::int64_t slot) {
        return sets_->validation_place(executor().batch(), batch, slot).index;
      });
      ++batch;
    };
  }
  parallel::BatchSums learn() override {
    const double scale = 1.0 / static_cast<double>(info().global_batch_size);
    const nn::LossSums sums = loss(scale, executor().output_gradient());
    return {.loss = sums.loss, .samples = sums.samples};
  }
  parallel::BatchSums judge(std::int64_t /*samples*/) override {
    const nn::LossSums sums = loss(0.0, {});
    return {.loss = sums.loss,
            .quality = static_cast<double>(sums.correct),
            .counts = sums.samples,
            .samples = sums.samples};
  }
  void send_outputs(runner::OutputSink* sink, std::int64_t first, std::int64_t samples) override {
    parallel::gather_outputs(around().world, sink, first, samples, kClasses, executor().outputs(),
                             labels_);
  }

  /// Fills the network's input with the points whose indices `index_of` returns for each slot.
  template <class IndexOf>
  void load(const dataset::Dataset& source, const IndexOf& index_of) {
    const std::span<float> input = executor().input();
    labels_.assign(static_cast<std::size_t>(executor().batch()), kNoSample);
    for (std::size_t slot = 0; slot < labels_.size(); ++slot) {
      const std::int64_t index = index_of(static_cast<std::int64_t>(slot));
      if (index < 0) continue;  // an empty slot after the last sample; its input does not count
      source.read(index, bytes_);
      sets_->count_read(source, static_cast<std::int64_t>(bytes_.size()));
      const Point point = decode(bytes_, source.name(index));
      input[kCoordinates * slot] = point.x;
      input[kCoordinates * slot + 1] = point.y;
      labels_[slot] = point.label;
    }
  }
  nn::LossSums loss(double scale, std::span<float> gradient) {
    return nn::softmax_cross_entropy(executor().outputs(), labels_, 0.0, scale, gradient);
  }

  const Config config_;
  const std::shared_ptr<parallel::SampleSets> sets_;
  std::vector<std::int32_t> labels_;  ///< labels of the batch in the executor
  std::vector<std::byte> bytes_;
};

}  // namespace

std::unique_ptr<runner::Workload> make_workload(const runner::RunConfig& run,
                                                const runner::Surroundings& around) {
  const Config config = parse_config(run.reader);
  const auto sets = open_sets(config, run.seed, around);
  sets->expect(parallel::ahead_of(run, around, memory_needs));
  return std::make_unique<Example>(config, sets, run, around);
}

runner::MemoryNeeds memory_needs(const runner::RunConfig& run, const runner::PlannedRank& place) {
  const Config config = parse_config(run.reader);
  return parallel::memory_needs(build_network(config.hidden), training_of(config), place,
                                *make_optimizer(run.reader));
}

}  // namespace example
