// A workload whose model every rank has whole: its steps, its evaluation, and its weights in files.
// Hides that some ranks have fewer batches than others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "workloads/parallel/sample_sets.h"
#include "workloads/parallel/training_workload.h"

namespace parallel {

class ReplicaWorkload : public TrainingWorkload {
 public:
  double evaluate(runner::OutputSink* outputs) override;
  void save_weights(runner::StateWriter* writer) override;
  void load_weights(const runner::StateReader& reader) override;
  /// Those of staging and of reading ahead, and the epochs.
  std::vector<std::string> keys_without_effect() const override;

 protected:
  /// As of TrainingWorkload.
  ReplicaWorkload(runner::WorkloadInfo info, TrainingSetup setup, std::shared_ptr<SampleSets> sets,
                  std::uint64_t seed, const runner::Surroundings& around);
  /// Before initialize(), where neighbouring ranks have parts of the same samples.
  void share_volumes(std::unique_ptr<nn::VolumeExchange> volumes) { volumes_ = std::move(volumes); }
  /// Since initialize(). Batches are loaded into its input; the hooks below are of the last one.
  nn::Executor& executor() { return model_->executor(); }

 private:
  void make_model() override;
  Model& model() const override { return *model_; }
  void update(double learning_rate, BatchSums& sums) override;

  /// This rank's part of the validation set, which is open.
  virtual Load evaluation_batches() = 0;
  /// Fills the executor's output gradient with that of the mean loss over the global batch.
  virtual BatchSums learn() = 0;
  /// Quality of the executor's outputs for the first `samples` of the batch: it has no more.
  virtual BatchSums judge(std::int64_t samples) = 0;
  /// Collective. Gives rank 0's sink the outputs for the first `samples` of the batch, which in the
  /// dataset begin with `first`; 0 where a rank has no more batches.
  virtual void send_outputs(runner::OutputSink* sink, std::int64_t first, std::int64_t samples) = 0;

  Load open_evaluation();
  BatchSums judge_next(const Load& batches, std::int64_t samples);
  void synchronize_statistics();

  std::unique_ptr<nn::VolumeExchange> volumes_;  ///< null: samples are whole
  std::unique_ptr<DataParallel> model_;          ///< null before initialize()
  const std::shared_ptr<SampleSets> sets_;
};

}  // namespace parallel
