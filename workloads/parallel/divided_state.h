// The optimizer's state where nodes divide it, in checkpoints.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/base/state.h"
#include "runner/communicator.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/parallel/gradient_exchange.h"

namespace parallel {

/// Collective. The arrays that nn::training_state() leaves out: each whole on one rank, which
/// gathers it from all others, so that all of them together take the memory of one whole state, in
/// about equal parts. They have the names and shapes of a state that is not divided.
std::vector<base::StateArray> divided_state(const nn::Executor& executor, nn::Optimizer& optimizer,
                                            const GradientExchange& exchange,
                                            const runner::Communicator& world);

/// The bytes that divided_state() takes on a rank, at most.
std::int64_t gathered_state_bytes(const nn::Network& network, std::int64_t buffers, int ranks);

/// Collective. Restores them, whether the state that was saved was divided or not. is_first:
/// whether this is the first rank of its node, which writes; a barrier of the node's ranks must
/// follow before the next step.
void restore_divided_state(const base::StateSource& source, const nn::Executor& executor,
                           nn::Optimizer& optimizer, bool is_first);

}  // namespace parallel
