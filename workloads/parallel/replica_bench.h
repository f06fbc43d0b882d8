// The bench of a model that is replicated on every rank.
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/parallel/data_parallel.h"
#include "workloads/parallel/training_bench.h"

namespace parallel {

/// Base class of the workloads' benches, which supply the samples and the loss.
class ReplicaBench : public BenchModel {
 public:
  nn::Executor& executor() override { return trainer_.executor(); }
  double step() override;

 protected:
  /// Collective. `around` outlives this.
  ReplicaBench(nn::Network network, const DataParallelConfig& training,
               std::unique_ptr<nn::Optimizer> optimizer, double learning_rate, std::uint64_t seed,
               const runner::Surroundings& around);

 private:
  /// Writes this rank's samples to the executor's input.
  virtual void load() = 0;
  /// Writes the gradient of the mean loss over all ranks' samples to the executor's output
  /// gradient; returns the sum of the losses of this rank's samples.
  virtual double learn() = 0;

  const runner::Surroundings& around_;
  const nn::Network network_;
  const std::unique_ptr<nn::Optimizer> optimizer_;
  const double learning_rate_;
  DataParallel trainer_;
};

}  // namespace parallel
