// Synchronous data-parallel training of a network: one step over the global batch, on any number of
// ranks. Hides executor, exchanges and the order of a step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runner/communicator.h"
#include "runner/telemetry/telemetry.h"
#include "runner/workload.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/nn/executor/training_state.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/parallel/gradient_exchange.h"
#include "workloads/parallel/model.h"
#include "workloads/parallel/node_memory.h"
#include "workloads/parallel/statistics_exchange.h"

namespace parallel {

struct DataParallelConfig {
  std::int64_t global_batch = 1;   ///< samples of a step on all ranks
  std::int64_t accumulation = 1;   ///< passes that make a step; divides global_batch
  std::int64_t bn_group_size = 1;  ///< samples that share batch-norm statistics; divides the pass
  base::InstructionSet instruction_set = base::InstructionSet::kBaseline;
  /// kTraining, or kFrozenStatistics: batch norm keeps the running statistics that were set
  /// (fine-tuning), and its groups mean nothing.
  nn::Mode mode = nn::Mode::kTraining;
  nn::Arithmetic arithmetic = {};
  nn::Recompute recompute = nn::Recompute::kNormalizations;
  /// Neighbouring ranks that have the same samples, each a part of them.
  std::int64_t sample_ranks = 1;
  nn::VolumeExchange* volumes = nullptr;  ///< between them; outlives the replica
};

/// Which slots of a step's global batch each rank computes. Pass m of a step has the slots
/// [m * pass, (m + 1) * pass); each rank a contiguous part of it.
struct BatchSplit {
  std::vector<nn::PassSlice> slices;  ///< of one pass, by rank; equal where ranks share samples
  std::int64_t pass_samples = 0;
  std::int64_t accumulation = 1;
  std::int64_t sample_ranks = 1;
  /// Slot in the global batch of this rank's sample `sample` of pass `pass`.
  std::int64_t slot(int rank, std::int64_t pass, std::int64_t sample) const {
    return pass * pass_samples + slices[static_cast<std::size_t>(rank)].first + sample;
  }
};
/// Throws ConfigError when the batch does not fit accumulation, groups or ranks, or ranks do not
/// divide into those that share samples.
BatchSplit split_batch(const DataParallelConfig& config, int ranks);
/// Of a model that every rank has whole: gradients travel as floats, parts of samples as the
/// activations that they are.
runner::Disclosure disclosure_of(const DataParallelConfig& config, const BatchSplit& split);
/// Of the replica on `rank`; its memory is left to choose.
nn::ExecutorOptions executor_options(const DataParallelConfig& config, const BatchSplit& split,
                                     int rank);

/// A replica of the model on this rank. The replicas of a node have one copy of the weights and of
/// the optimizer's state between them, and share out the sums of gradients and the update.
class DataParallel final : public Model {
 public:
  /// Fills the executor's input with this rank's samples of pass `pass`.
  using Load = std::function<void(std::int64_t pass)>;
  /// Reads the executor's outputs of pass `pass` and fills its output gradient with that of the
  /// mean loss over the global batch.
  using Loss = std::function<void(std::int64_t pass)>;

  /// Collective. `node`: the ranks of `world` that see each other's memory. Both outlive this and
  /// the optimizers that it prepared.
  DataParallel(const nn::Network& network, const DataParallelConfig& config,
               const runner::Communicator& world, const runner::Communicator& node,
               telemetry::Telemetry& telemetry);

  void initialize(std::uint64_t seed, nn::Optimizer& optimizer) override;
  /// Collective. One update with `learning_rate`; times itself by scopes. `listener`, unless null,
  /// is told of the passes: backward of the last one alone.
  void step(const Load& load, const Loss& loss, nn::Optimizer& optimizer, double learning_rate,
            nn::PassListener* listener = nullptr);
  /// The gradients of the last step, summed over all ranks, in block order; until the next backward
  /// pass of any rank.
  std::vector<float> summed_gradients() const { return gradient_exchange_->sums(); }
  /// Collective. Makes the running statistics those of all ranks' batches.
  void synchronize_statistics();

  std::vector<base::StateArray> state(nn::Optimizer& optimizer) override;
  /// With the same bits on as many ranks.
  void restore(const base::StateSource& source, nn::Optimizer& optimizer) override;
  std::uint64_t replica_hash() const override { return executor().parameters().weights_hash(); }
  std::vector<nn::LayerFacts> layers() const override { return executor().layers(); }

  nn::Executor& executor() { return *executor_; }
  const nn::Executor& executor() const { return *executor_; }
  const BatchSplit& split() const { return split_; }
  std::int64_t local_batch() const { return executor_->batch(); }

 private:
  nn::ReplicaPlace place() const;
  const runner::Communicator& world_;
  const runner::Communicator& node_;
  telemetry::Telemetry& telemetry_;
  DataParallelConfig config_;
  BatchSplit split_;
  std::int64_t groups_per_step_;
  nn::Device device_;
  std::shared_ptr<nn::ParameterMemory> memory_;
  std::unique_ptr<GroupExchange> group_exchange_;
  std::unique_ptr<nn::LayerListener> traced_layers_;  ///< null: nothing is traced
  std::unique_ptr<nn::Executor> executor_;
  std::unique_ptr<GradientExchange> gradient_exchange_;
};

}  // namespace parallel
