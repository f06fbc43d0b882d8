// What lossy payloads left out of the gradients' sums so far, in checkpoints.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/base/state.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/parallel/gradient_exchange.h"

namespace parallel {

/// For each parameter an array of shape [nodes, its shape]: the rest of each node, in the
/// parameter's plain order. None if the exchange keeps no rest. is_first: whether this is the first
/// rank of its node, which writes. The arrays refer to executor and exchange, and are read between
/// steps.
std::vector<base::StateArray> rest_state(const nn::Executor& executor,
                                         const GradientExchange& exchange, bool is_first);

/// Restores what rest_state() returned, bit for bit on as many nodes. On another number of nodes
/// the first one takes the sum; where nothing is left out, on one node or as the payload is, the
/// arrays are ignored. The rest is 0 if the source has none. To be called by all ranks; a barrier
/// of the node's ranks must follow before the next step.
void restore_rest(const base::StateSource& source, const nn::Executor& executor,
                  GradientExchange& exchange, bool is_first);

/// Bytes of the arrays of rest_state().
std::int64_t rest_state_bytes(const nn::Network& network, const GradientTravel& travel,
                              std::int64_t nodes);

}  // namespace parallel
