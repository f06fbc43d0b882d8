// Steps, evaluation and weights of a replicated model.
#include "workloads/parallel/replica_workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "workloads/parallel/replica.h"

namespace parallel {

using telemetry::Counter;
using telemetry::Scope;
using telemetry::Subsystem;

namespace {

/// Lets copying advance within a step, which may be long.
class StagingInPass final : public nn::PassListener {
 public:
  explicit StagingInPass(std::function<void()> advance) : advance_(std::move(advance)) {}
  void gradients_ready(std::int64_t /*floats*/) override { advance_(); }

 private:
  const std::function<void()> advance_;
};

}  // namespace

ReplicaWorkload::ReplicaWorkload(runner::WorkloadInfo info, TrainingSetup setup,
                                 std::shared_ptr<SampleSets> sets, std::uint64_t seed,
                                 const runner::Surroundings& around)
    : TrainingWorkload(std::move(info), std::move(setup), sets, seed, around),
      sets_(std::move(sets)) {}

void ReplicaWorkload::make_model() {
  DataParallelConfig shared = training();
  shared.volumes = volumes_.get();
  model_ = std::make_unique<DataParallel>(network(), shared, around().world, around().topology.node,
                                          around().telemetry);
}

void ReplicaWorkload::update(double learning_rate, BatchSums& sums) {
  StagingInPass in_pass([this] { advance_staging(); });
  model_->step([&](std::int64_t) { load(); }, [&](std::int64_t) { sums += learn(); }, optimizer(),
               learning_rate, stages_meanwhile() ? &in_pass : nullptr);
}

void ReplicaWorkload::exchange_alone() {
  TrainingWorkload::exchange_alone();
  if (volumes_) volumes_->exchange_alone();
}

ReplicaWorkload::Load ReplicaWorkload::open_evaluation() {
  const Scope scope(around().telemetry, Subsystem::kInput);
  TrainingWorkload::open_evaluation_data();
  return evaluation_batches();
}

BatchSums ReplicaWorkload::score_next_batch(const Load& batches, std::int64_t samples) {
  load(batches);
  const Scope scope(around().telemetry, Subsystem::kForward);
  executor().forward(nn::Mode::kInference);
  return judge(samples);
}

double ReplicaWorkload::measure(runner::OutputSink* outputs) {
  const Load batches = open_evaluation();
  synchronize_statistics();
  const runner::Communicator& world = around().world;
  const auto [first, last] = sets_->validation_part();
  const std::int64_t size = model_->local_batch(), mine = sets_->validation_batch_count(size);
  // send_outputs() is collective, so a rank with fewer batches sends empty ones at the end.
  const bool sends = world.allreduce_max(std::int64_t{outputs != nullptr ? 1 : 0}) > 0;
  const std::int64_t rounds = sends ? world.allreduce_max(mine) : mine;
  BatchSums sums;
  for (std::int64_t batch = 0; batch < rounds; ++batch) {
    const std::int64_t begin = std::min(first + batch * size, last);
    const std::int64_t samples = std::min(size, last - begin);
    if (batch < mine) sums += score_next_batch(batches, samples);
    if (sends) send_outputs(outputs, begin, counted(samples));
  }
  around().telemetry.add(Counter::kEvalSamples, counted(sums.samples));
  count_reads();
  std::array<double, 3> totals = {sums.quality, static_cast<double>(sums.counts), sums.loss};
  world.allreduce_sum(std::span<double>(totals));
  // A count of correct outputs is a number even if the outputs are not.
  return std::isfinite(totals[2]) ? totals[0] / totals[1]
                                  : std::numeric_limits<double>::quiet_NaN();
}

void ReplicaWorkload::synchronize_statistics() {
  if (!network().statistics().empty()) model_->synchronize_statistics();
}

void ReplicaWorkload::save_weights(runner::StateWriter* writer) {
  model_->finish_update();
  synchronize_statistics();
  write_parameters(writer, executor());
  write_statistics(writer, executor());
}

void ReplicaWorkload::load_weights(const runner::StateReader& reader) {
  model_->finish_update();
  std::set<std::string> known;
  read_parameters(reader, executor(), known);
  read_statistics(reader, executor(), known);
  refuse_unknown(reader, known);
}

std::vector<std::string> ReplicaWorkload::keys_without_effect() const {
  // More epochs only append steps; if they changed the schedule, its own keys would differ too.
  std::vector<std::string> keys = idle_keys(training().gradients);
  keys.insert(keys.end(),
              {"/dataset/decode_threads", "/dataset/prefetch_batches", "/epochs", "/cache"});
  return keys;
}

}  // namespace parallel
