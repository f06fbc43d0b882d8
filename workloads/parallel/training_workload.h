// The training loop of all workloads, independent of the model and the samples.
// Hides telemetry counts and the position of a resumed run.
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

/// The model and how it is trained.
struct TrainingSetup {
  nn::Network network;  ///< the replicated part of the model
  DataParallelConfig training;
  std::unique_ptr<nn::Optimizer> optimizer;  ///< of the network
  /// Its lengths may depend on the sample counts in `counted`.
  std::function<nn::Schedule(const runner::WorkloadInfo& counted)> schedule;
};

/// Parses the section "schedule" with nn::parse_schedule(); `epochs` is the run's limit.
std::function<nn::Schedule(const runner::WorkloadInfo& counted)> schedule_of(
    const base::ObjectReader& root, std::int64_t epochs);

/// Sums over a rank's outputs of a batch.
struct BatchSums {
  double loss = 0.0;         ///< summed over samples
  double quality = 0.0;      ///< over all batches and ranks, sum of quality / sum of counts
  std::int64_t counts = 0;   ///< denominator of the quality; usually `samples`
  std::int64_t samples = 0;  ///< samples in the sums
  BatchSums& operator+=(const BatchSums& other);
};

class TrainingWorkload : public runner::Workload {
 public:
  const runner::WorkloadInfo& info() const override { return info_; }
  /// The names of the network's parameters.
  std::vector<std::string> log_tensor_names() const override;
  void open_data() override;
  void open_evaluation_data() override;
  void initialize() override;
  nlohmann::json stage() override;
  nlohmann::json finish_staging(runner::StagingEnd end) override;
  runner::TrainResult train(std::int64_t steps) override;
  /// NaN if an output, a weight or a running statistic is infinite or NaN.
  double evaluate(runner::OutputSink* outputs) final;
  std::vector<base::StateArray> state() override {
    model().finish_update();
    return model().state(*optimizer_);
  }
  void restore(const base::StateSource& source, std::int64_t steps_done) override;
  /// Those of the model, and a payload that does not send all gradients, on any number of nodes.
  /// Source: MLPerf Training rules, section 6: int8 with a scale for each block is a format that
  /// leaves the function unchanged.
  std::vector<std::string> closed_rule_breaks() const final;
  /// Of the network and its optimizer only.
  std::int64_t state_bytes() const override;
  std::uint64_t replica_hash() const override {
    model().finish_update();
    return model().replica_hash();
  }
  /// Of the network only.
  runner::StepCost step_cost() const override;
  nlohmann::json staging_plan() override { return samples_->staging_plan(split_); }
  std::vector<std::string> take_remarks() override { return samples_->take_remarks(); }
  void exchange_alone() override { model().exchange_alone(); }
  void clean_up() override;

 protected:
  /// Loads this rank's next batch for the hooks below.
  using Load = std::function<void()>;
  /// `info` has the fields that do not follow from the other arguments: name, benchmark, target.
  TrainingWorkload(runner::WorkloadInfo info, TrainingSetup setup, std::shared_ptr<Samples> samples,
                   std::uint64_t seed, const runner::Surroundings& around);

  const runner::Surroundings& around() const { return around_; }
  std::uint64_t seed() const { return seed_; }
  const nn::Network& network() const { return network_; }
  const DataParallelConfig& training() const { return training_; }
  const BatchSplit& split() const { return split_; }
  nn::Optimizer& optimizer() { return *optimizer_; }
  const nn::Optimizer& optimizer() const { return *optimizer_; }
  /// Valid once the sample counts are known.
  const nn::ScheduleConfig& schedule() const { return schedule_->config(); }
  std::int64_t steps_done() const { return steps_done_; }
  /// Within update(): whether another follows before anything else is done with the model.
  bool is_followed() const { return is_followed_; }
  /// For workloads that disclose more than their network.
  runner::WorkloadInfo& own_info() { return info_; }
  /// Whether samples are copied meanwhile.
  bool stages_meanwhile() const { return stages_meanwhile_; }
  /// Not collective; does not wait. Lets copying that goes on meanwhile advance, as load() does.
  void advance_staging() const;
  /// Loads the next batch; timed as input.
  void load(const Load& batches) const;
  /// Loads the next training batch.
  void load() const { load(batches_); }
  /// Adds the reads since the last call to the telemetry.
  void count_reads();
  /// `samples` on one of the ranks that split the same samples, 0 on the others.
  std::int64_t counted(std::int64_t samples) const;

 private:
  /// As Workload::closed_rule_breaks().
  virtual std::vector<std::string> model_rule_breaks() const { return {}; }
  /// Collective. Makes the model, without weights; model() is valid afterwards.
  virtual void make_model() = 0;
  virtual Model& model() const = 0;
  /// Loads the batches from update `first_step` to the end of the run.
  virtual Load training_batches(std::int64_t first_step) = 0;
  /// Collective. One update; adds the sums of its passes to `sums`.
  virtual void update(double learning_rate, BatchSums& sums) = 0;
  /// Collective. The quality of the outputs for the validation set; NaN if one of them is not
  /// finite. `outputs`: see Workload::evaluate().
  virtual double measure(runner::OutputSink* outputs) = 0;

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
  Load batches_;  ///< empty: train() next opens the batches from steps_done_ on
  std::int64_t steps_done_ = 0;
  bool is_followed_ = false;
  bool stages_meanwhile_ = false;
};

}  // namespace parallel
