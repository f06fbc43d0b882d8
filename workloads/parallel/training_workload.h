// A workload in training: the one loop of steps, whatever the model is and the samples are.
// Hides what of it is collective, what telemetry counts, and where a resumed run goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/workload.h"
#include "workloads/optimizer/schedule.h"
#include "workloads/parallel/data_parallel.h"
#include "workloads/parallel/model.h"
#include "workloads/parallel/samples.h"

namespace parallel {

/// What is trained, and how.
struct TrainingSetup {
  nn::Network network;  ///< what every rank has of the model
  DataParallelConfig training;
  std::unique_ptr<nn::Optimizer> optimizer;  ///< of the network
  /// Its lengths may depend on how many samples `counted` has.
  std::function<nn::Schedule(const runner::WorkloadInfo& counted)> schedule;
};

/// By the section "schedule" of nn::parse_schedule(); `epochs` is the run's limit.
std::function<nn::Schedule(const runner::WorkloadInfo& counted)> schedule_of(
    const base::ObjectReader& root, std::int64_t epochs);

/// What a rank's outputs of a batch come to.
struct BatchSums {
  double loss = 0.0;         ///< over samples
  double quality = 0.0;      ///< over counts: the set's quality is the quotient of all ranks' sums
  std::int64_t counts = 0;   ///< samples as a rule
  std::int64_t samples = 0;  ///< that were judged
  BatchSums& operator+=(const BatchSums& other);
};

class TrainingWorkload : public runner::Workload {
 public:
  const runner::WorkloadInfo& info() const override { return info_; }
  /// Those of the network's parameters.
  std::vector<std::string> log_tensor_names() const override;
  void open_data() override;
  void open_evaluation_data() override;
  void initialize() override;
  nlohmann::json stage() override;
  runner::TrainResult train(std::int64_t steps) override;
  std::vector<base::StateArray> state() override { return model().state(*optimizer_); }
  void restore(const base::StateSource& source, std::int64_t steps_done) override;
  /// Those of the network and its optimizer.
  std::int64_t state_bytes() const override;
  std::uint64_t replica_hash() const override { return model().replica_hash(); }
  /// That of the network.
  runner::StepCost step_cost() const override;
  nlohmann::json staging_plan() override { return samples_->staging_plan(split_); }
  void clean_up() override;

 protected:
  /// Puts this rank's next batch where the hooks below find it.
  using Load = std::function<void()>;
  /// `info` has what does not follow from the others: name, benchmark, target. `samples` live until
  /// nothing reads from them.
  TrainingWorkload(runner::WorkloadInfo info, TrainingSetup setup, std::shared_ptr<Samples> samples,
                   std::uint64_t seed, const runner::Surroundings& around);

  const runner::Surroundings& around() const { return around_; }
  std::uint64_t seed() const { return seed_; }
  const nn::Network& network() const { return network_; }
  const DataParallelConfig& training() const { return training_; }
  const BatchSplit& split() const { return split_; }
  nn::Optimizer& optimizer() { return *optimizer_; }
  const nn::Optimizer& optimizer() const { return *optimizer_; }
  /// Since the samples are counted.
  const nn::ScheduleConfig& schedule() const { return schedule_->config(); }
  std::int64_t steps_done() const { return steps_done_; }
  /// For what a workload discloses beyond its network.
  runner::WorkloadInfo& own_info() { return info_; }
  /// The next batch; timed as input.
  void load(const Load& batches) const;
  /// The next batch of training.
  void load() const { load(batches_); }
  /// Tells telemetry what was read since the last call.
  void count_reads();
  /// Of ranks that have parts of the same samples one counts them.
  std::int64_t counted(std::int64_t samples) const;

 private:
  /// Collective. The model, still without weights; from then on model() gives it.
  virtual void make_model() = 0;
  virtual Model& model() const = 0;
  /// From update `first_step` to the end of the run.
  virtual Load training_batches(std::int64_t first_step) = 0;
  /// Collective. One update; adds up what each of its passes comes to.
  virtual void update(double learning_rate, BatchSums& sums) = 0;

  void learn_counts();
  double learning_rate() const;

  const runner::Surroundings around_;
  const std::uint64_t seed_;
  const nn::Network network_;
  const DataParallelConfig training_;
  const BatchSplit split_;
  runner::WorkloadInfo info_;
  const std::unique_ptr<nn::Optimizer> optimizer_;
  const std::shared_ptr<Samples> samples_;
  const std::function<nn::Schedule(const runner::WorkloadInfo&)> make_schedule_;
  std::optional<nn::Schedule> schedule_;
  Load batches_;  ///< empty: training begins at steps_done_
  std::int64_t steps_done_ = 0;
};

}  // namespace parallel
