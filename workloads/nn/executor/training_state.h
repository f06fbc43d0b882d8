// All that a bit-exact resume needs of a network in training, as the arrays of a checkpoint.
// Hides layouts, optimizer buffers and how ranks keep running statistics.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runner/base/state.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/optimizer/optimizer.h"

namespace nn {

/// This rank among the replicas of a network.
struct ReplicaPlace {
  int rank = 0, ranks = 1;
  /// Adds its argument over ranks, in place; collective. May be empty for a single rank.
  std::function<void(std::span<double>)> sum_over_ranks;
};

/// Without the optimizer's state that nodes divide (StateView::block). Collective when
/// place.sum_over_ranks is. Weights and running statistics have the reference
/// model's names, as plain row-major fp32; what only a resume needs (momentum, each rank's part of
/// the statistics in fp64) is under base::kResumeGroup. Changes nothing. The arrays refer to
/// executor and optimizer.
std::vector<base::StateArray> training_state(Executor& executor, Optimizer& optimizer,
                                             const ReplicaPlace& place);

/// Collective. Restores what training_state() returned, bit for bit on as many ranks. On another
/// number of ranks rank 0 takes the sum of all parts of the statistics.
void restore_training_state(const base::StateSource& source, Executor& executor,
                            Optimizer& optimizer, const ReplicaPlace& place);

/// Bytes of the arrays of training_state() on `ranks` ranks, without an executor.
std::int64_t training_state_bytes(const Network& network, const Optimizer& optimizer, int ranks);

}  // namespace nn
