// A workload whose model every rank has whole: what training, evaluation and resuming of such
// models have in common. Hides their loops, what of them is collective, and what telemetry counts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runner/workload.h"
#include "workloads/parallel/data_parallel.h"
#include "workloads/parallel/sample_sets.h"

namespace parallel {

/// What is trained, and how.
struct ReplicaModel {
  nn::Network network;
  DataParallelConfig training;
  std::unique_ptr<nn::Optimizer> optimizer;
};

/// What a rank's outputs of a batch come to.
struct BatchSums {
  double loss = 0.0;         ///< over samples
  double quality = 0.0;      ///< over counts: the set's quality is the quotient of all ranks' sums
  std::int64_t counts = 0;   ///< samples as a rule
  std::int64_t samples = 0;  ///< that were judged
  BatchSums& operator+=(const BatchSums& other);
};

class ReplicaWorkload : public runner::Workload {
 public:
  const runner::WorkloadInfo& info() const override { return info_; }
  /// Those of the network's parameters.
  std::vector<std::string> log_tensor_names() const override;
  void open_data() override;
  void open_evaluation_data() override;
  void initialize() override;
  nlohmann::json stage() override;
  runner::TrainResult train(std::int64_t steps) override;
  double evaluate(runner::OutputSink* outputs) override;
  void save_weights(runner::StateWriter* writer) override;
  void load_weights(const runner::StateReader& reader) override;
  std::vector<base::StateArray> state() override { return model_->state(*optimizer_); }
  void restore(const base::StateSource& source, std::int64_t steps_done) override;
  std::int64_t state_bytes() const override;
  /// Those of staging and of reading ahead, and the epochs.
  std::vector<std::string> keys_without_effect() const override;
  std::uint64_t replica_hash() const override;
  runner::StepCost step_cost() const override;
  nlohmann::json staging_plan() override { return sets_->staging_plan(split_); }
  void clean_up() override;

 protected:
  /// Puts this rank's next batch into the executor's input; the hooks below then are of it.
  using Load = std::function<void()>;
  /// `info` has what does not follow from the others: name, benchmark, target. `sets` live until
  /// nothing reads from them.
  ReplicaWorkload(runner::WorkloadInfo info, ReplicaModel model, std::shared_ptr<SampleSets> sets,
                  std::uint64_t seed, const runner::Surroundings& around);
  /// Before initialize(), where neighbouring ranks have parts of the same samples.
  void share_volumes(std::unique_ptr<nn::VolumeExchange> volumes) { volumes_ = std::move(volumes); }

  const runner::Surroundings& around() const { return around_; }
  std::uint64_t seed() const { return seed_; }
  const BatchSplit& split() const { return split_; }
  const nn::Optimizer& optimizer() const { return *optimizer_; }
  std::int64_t steps_done() const { return steps_done_; }
  /// Since initialize().
  nn::Executor& executor() { return model_->executor(); }

 private:
  /// From update `first_step` to the end of the run.
  virtual Load training_batches(std::int64_t first_step) = 0;
  /// This rank's part of the validation set, which is open.
  virtual Load evaluation_batches() = 0;
  virtual double learning_rate(std::int64_t step) const = 0;
  /// Fills the executor's output gradient with that of the mean loss over the global batch.
  virtual BatchSums learn() = 0;
  /// Quality of the executor's outputs for the first `samples` of the batch: it has no more.
  virtual BatchSums judge(std::int64_t samples) = 0;
  /// Collective. Gives rank 0's sink the outputs for the first `samples` of the batch, which in the
  /// dataset begin with `first`; 0 where a rank has no more batches.
  virtual void send_outputs(runner::OutputSink* sink, std::int64_t first, std::int64_t samples) = 0;

  void learn_counts();
  void load(const Load& batches) const;
  Load open_evaluation();
  BatchSums judge_next(const Load& batches, std::int64_t samples);
  void synchronize_statistics();
  void count_reads();
  /// Of ranks that have parts of the same samples one counts them.
  std::int64_t counted(std::int64_t samples) const;

  const runner::Surroundings around_;
  const std::uint64_t seed_;
  const nn::Network network_;
  DataParallelConfig training_;
  const BatchSplit split_;
  runner::WorkloadInfo info_;
  const std::unique_ptr<nn::Optimizer> optimizer_;
  std::unique_ptr<nn::VolumeExchange> volumes_;  ///< null: samples are whole
  std::unique_ptr<DataParallel> model_;          ///< null before initialize()
  const std::shared_ptr<SampleSets> sets_;
  Load batches_;  ///< empty: training begins at steps_done_
  std::int64_t steps_done_ = 0;
};

}  // namespace parallel
