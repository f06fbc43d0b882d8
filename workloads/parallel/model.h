// A model in training, as the loop sees it: whole on every rank, or spread over them.
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
  /// Collective. Draws the weights from (seed, name) and gives the optimizer its part of the update
  /// and its memory.
  virtual void initialize(std::uint64_t seed, nn::Optimizer& optimizer) = 0;
  /// Collective. The arrays of a checkpoint, for a bit-exact resume; changes nothing.
  virtual std::vector<base::StateArray> state(nn::Optimizer& optimizer) = 0;
  /// Collective. Goes on from them.
  virtual void restore(const base::StateSource& source, nn::Optimizer& optimizer) = 0;
  /// Of the weights that every rank has alike.
  virtual std::uint64_t replica_hash() const = 0;
  /// The layers that every rank has, as this one makes them.
  virtual std::vector<nn::LayerFacts> layers() const = 0;
};

}  // namespace parallel
