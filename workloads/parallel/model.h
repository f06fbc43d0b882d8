// The training loop's interface to a model, which is replicated on every rank or distributed.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/base/state.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/optimizer/optimizer.h"

namespace parallel {

class Model {
 public:
  virtual ~Model() = default;
  /// Collective. Draws the weights from (seed, name), and prepares the optimizer: its memory, and
  /// the part of the weights that this rank updates.
  virtual void initialize(std::uint64_t seed, nn::Optimizer& optimizer) = 0;
  /// Collective. Ends an update that the last step left for the next. To be called before weights
  /// or the optimizer's state are read or written other than by a step.
  virtual void finish_update() = 0;
  /// Collective. The arrays of a checkpoint, for a bit-exact resume. Does not change the model.
  virtual std::vector<base::StateArray> state(nn::Optimizer& optimizer) = 0;
  /// Collective. Restores the arrays of state().
  virtual void restore(const base::StateSource& source, nn::Optimizer& optimizer) = 0;
  /// A hash of the bits of the replicated weights: equal on all ranks unless replicas drifted.
  virtual std::uint64_t replica_hash() const = 0;
  /// Not collective. Whether none of this rank's weights and running statistics is infinite or NaN.
  virtual bool is_finite() const = 0;
  /// The replicated layers, with their implementations on this rank.
  virtual std::vector<nn::LayerFacts> layers() const = 0;
  /// Collective. See Workload::exchange_alone().
  virtual void exchange_alone() = 0;
};

}  // namespace parallel
