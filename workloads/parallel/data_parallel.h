// Synchronous data-parallel training of a network: one step over the global batch, on any number of
// ranks. Hides the exchanges between ranks and the order of a step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runner/communicator.h"
#include "runner/telemetry/telemetry.h"
#include "runner/workload.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/nn/executor/training_state.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/parallel/gradient_exchange.h"
#include "workloads/parallel/late_update.h"
#include "workloads/parallel/model.h"
#include "workloads/parallel/node_memory.h"
#include "workloads/parallel/statistics_exchange.h"

namespace parallel {

struct DataParallelConfig {
  std::int64_t global_batch = 1;   ///< samples of a step, on all ranks
  std::int64_t accumulation = 1;   ///< passes of a step; divides global_batch
  std::int64_t bn_group_size = 1;  ///< samples that share batch-norm statistics; divides a pass
  base::InstructionSet instruction_set = base::InstructionSet::kBaseline;
  /// kTraining, or kFrozenStatistics for fine-tuning: batch norms use the running statistics and
  /// do not update them, and bn_group_size has no effect.
  nn::Mode mode = nn::Mode::kTraining;
  nn::Arithmetic arithmetic = {};
  nn::Recompute recompute = nn::Recompute::kNormalizations;
  /// Number of consecutive ranks that split each sample among them.
  std::int64_t ranks_per_sample = 1;
  nn::VolumeExchange* volumes = nullptr;  ///< between those ranks; outlives the replica
  GradientTravel gradients = {};          ///< between nodes
  /// The ranks that have the other parts of each of these weights, for norms of whole tensors; null
  /// if they are whole. Outlives the replica.
  const runner::Communicator* parts = nullptr;
};

/// Which slots of a step's global batch each rank computes. Pass m of a step has the slots
/// [m * pass_samples, (m + 1) * pass_samples), of which each rank has a contiguous slice.
struct BatchSplit {
  std::vector<nn::PassSlice> slices;  ///< of one pass, by rank; the same for ranks that split them
  std::int64_t pass_samples = 0;
  std::int64_t accumulation = 1;
  std::int64_t ranks_per_sample = 1;
  /// Slot in the global batch of this rank's sample `sample` of pass `pass`.
  std::int64_t slot(int rank, std::int64_t pass, std::int64_t sample) const {
    return pass * pass_samples + slices[static_cast<std::size_t>(rank)].first + sample;
  }
};
/// Throws ConfigError when the accumulation steps do not divide the batch, the batch-norm groups do
/// not divide a pass, ranks_per_sample does not divide `ranks`, ranks_per_sample and bn_group_size
/// both exceed 1, or a pass has fewer samples than there are groups of ranks_per_sample ranks, or
/// more than kMostPassSamples for each group.
BatchSplit split_batch(const DataParallelConfig& config, int ranks);
inline constexpr std::int64_t kMostPassSamples = std::int64_t{1} << 18;
/// The log's facts about a model that every rank replicates: between `nodes` nodes gradients are
/// sent in their payload, and parts of samples in the precision of the activations.
runner::Disclosure disclosure_of(const DataParallelConfig& config, const BatchSplit& split,
                                 int nodes);
/// Options of the executor on `rank`; the caller sets `memory` and `plan_only`.
nn::ExecutorOptions executor_options(const DataParallelConfig& config, const BatchSplit& split,
                                     int rank);

/// A replica of the model on this rank. The replicas of a node share one copy of the weights and of
/// the optimizer's state, and divide summing the gradients and updating the weights among them.
class DataParallel final : public Model {
 public:
  /// Fills the executor's input with this rank's samples of pass `pass`.
  using Load = std::function<void(std::int64_t pass)>;
  /// Reads the executor's outputs of pass `pass` and writes the gradient of the mean loss over the
  /// global batch to the executor's output gradient.
  using Loss = std::function<void(std::int64_t pass)>;

  /// Collective. `node`: the ranks of `world` that can share memory with this one. Both outlive
  /// this and the optimizers that initialize() prepared.
  DataParallel(const nn::Network& network, const DataParallelConfig& config,
               const runner::Communicator& world, const runner::Communicator& node,
               telemetry::Telemetry& telemetry);

  void initialize(std::uint64_t seed, nn::Optimizer& optimizer) override;
  /// Collective. One update with `learning_rate`; its phases are telemetry scopes. `listener`,
  /// unless null, is notified of every forward pass and of the last backward pass. A late update
  /// ends in the next step or in finish_update(), before which nothing else may be called.
  void step(const Load& load, const Loss& loss, nn::Optimizer& optimizer, double learning_rate,
            nn::PassListener* listener = nullptr);
  /// A step in parts, for replicas one behind the other: for each pass forward(), within the
  /// caller's scope, and backward(); then update().
  void forward(nn::PassListener* listener = nullptr);
  void backward(std::int64_t pass, nn::PassListener* listener = nullptr);
  void update(nn::Optimizer& optimizer, double learning_rate);
  /// Goes on with gradients that travel.
  void progress() { gradient_exchange_->progress(); }
  void finish_update() override { late_update_->finish(); }
  /// Whether the last step's update waits for the next forward pass.
  bool is_updating() const { return late_update_->is_under_way(); }
  /// The gradients of the last step, summed over all ranks, in the order of the gradient block.
  /// Valid until the next backward pass of any rank.
  std::vector<float> summed_gradients() const { return gradient_exchange_->sums(); }
  /// Collective. Combines the ranks' running statistics, so that all ranks have the same.
  void synchronize_statistics();

  std::vector<base::StateArray> state(nn::Optimizer& optimizer) override;
  /// Training continues bit-identically on the same number of ranks.
  void restore(const base::StateSource& source, nn::Optimizer& optimizer) override;
  std::uint64_t replica_hash() const override { return executor().parameters().weights_hash(); }
  bool is_finite() const override {
    return executor().parameters().is_finite() && executor().statistics().is_finite();
  }
  std::vector<nn::LayerFacts> layers() const override { return executor().layers(); }

  /// Gradients, and weights where nodes divide updates.
  void exchange_alone() override;

  nn::Executor& executor() { return *executor_; }
  const nn::Executor& executor() const { return *executor_; }
  const BatchSplit& split() const { return split_; }
  std::int64_t local_batch() const { return executor_->batch(); }

 private:
  nn::ReplicaPlace place() const;
  /// Collective. As a step's backward pass begins: sets the cut into pieces that it tries, or the
  /// best one, after the last trial.
  void try_cut();
  const runner::Communicator& world_;
  const runner::Communicator& node_;
  telemetry::Telemetry& telemetry_;
  DataParallelConfig config_;
  BatchSplit split_;
  std::int64_t groups_per_step_;
  nn::Device device_;
  std::shared_ptr<nn::ParameterMemory> memory_;
  std::unique_ptr<GroupExchange> group_exchange_;
  std::unique_ptr<nn::LayerListener> traced_layers_;  ///< null without a trace
  std::unique_ptr<nn::Executor> executor_;
  std::unique_ptr<GradientExchange> gradient_exchange_;
  std::unique_ptr<LateUpdate> late_update_;
  std::optional<PieceTrials> trials_;        ///< until they are over
  std::optional<std::int64_t> trial_begin_;  ///< ns
};

}  // namespace parallel
