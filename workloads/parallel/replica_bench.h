// The bench of a model that every rank has whole.
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/parallel/data_parallel.h"
#include "workloads/parallel/training_bench.h"

namespace parallel {

/// Workloads derive from it what their samples are.
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
  /// Puts this rank's samples into the executor's input.
  virtual void load() = 0;
  /// Fills the executor's output gradient with that of the mean loss over all ranks' samples;
  /// returns the sum over this rank's.
  virtual double learn() = 0;

  const runner::Surroundings& around_;
  const nn::Network network_;
  const std::unique_ptr<nn::Optimizer> optimizer_;
  const double learning_rate_;
  DataParallel trainer_;
};

}  // namespace parallel
