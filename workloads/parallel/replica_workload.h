// A workload whose model is replicated on every rank: steps, evaluation, and files of weights.
// Hides that ranks may have different numbers of validation batches.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "workloads/parallel/group_volumes.h"
#include "workloads/parallel/sample_sets.h"
#include "workloads/parallel/training_workload.h"

namespace parallel {

class ReplicaWorkload : public TrainingWorkload {
 public:
  void save_weights(runner::StateWriter* writer) override;
  void load_weights(const runner::StateReader& reader) override;
  /// The dataset keys decode_threads and prefetch_batches, and the epochs.
  std::vector<std::string> keys_without_effect() const override;
  void exchange_alone() override;

 protected:
  /// Arguments as for TrainingWorkload.
  ReplicaWorkload(runner::WorkloadInfo info, TrainingSetup setup, std::shared_ptr<SampleSets> sets,
                  std::uint64_t seed, const runner::Surroundings& around);
  /// Call before initialize() if ranks split samples among them
  /// (DataParallelConfig::ranks_per_sample).
  void share_volumes(std::unique_ptr<GroupVolumes> volumes) { volumes_ = std::move(volumes); }
  /// Valid after initialize(). Batches are loaded into its input; the hooks below refer to the last
  /// loaded batch.
  nn::Executor& executor() { return model_->executor(); }

 private:
  void make_model() override;
  Model& model() const override { return *model_; }
  void update(double learning_rate, BatchSums& sums) override;
  double measure(runner::OutputSink* outputs) override;

  /// Loads this rank's part of the validation set, which is open.
  virtual Load evaluation_batches() = 0;
  /// Writes the gradient of the mean loss over the global batch to the executor's output gradient;
  /// returns the sums over this rank's batch.
  virtual BatchSums learn() = 0;
  /// Quality of the executor's outputs for the batch, whose first `samples` slots hold samples, and
  /// their loss, which is finite only if the outputs are.
  virtual BatchSums judge(std::int64_t samples) = 0;
  /// Collective. Writes the outputs of the batch's first `samples` samples, which begin at dataset
  /// index `first`, to rank 0's sink. `samples` is 0 on a rank without further batches.
  virtual void send_outputs(runner::OutputSink* sink, std::int64_t first, std::int64_t samples) = 0;

  Load open_evaluation();
  BatchSums score_next_batch(const Load& batches, std::int64_t samples);
  void synchronize_statistics();

  std::unique_ptr<GroupVolumes> volumes_;  ///< null: samples are not split
  std::unique_ptr<DataParallel> model_;    ///< null before initialize()
  const std::shared_ptr<SampleSets> sets_;
};

}  // namespace parallel
