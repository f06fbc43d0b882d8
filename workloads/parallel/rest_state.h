// What lossy payloads left out of the gradients' sums so far, in checkpoints.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/base/state.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/parallel/gradient_exchange.h"

namespace parallel {

/// For each parameter an array of shape [nodes, its shape]: the rest of each node, in the
/// parameter's plain order. None if the exchange keeps no rest. Between steps only.
/// is_first: whether this is the first rank of its node, which writes.
std::vector<base::StateArray> rest_state(const nn::Executor& executor,
                                         const GradientExchange& exchange, bool is_first);

/// Restores what rest_state() returned, bit for bit on as many nodes. On another number of nodes
/// the first one takes the sum. Nothing was left out if the source has no such arrays.
void restore_rest(const base::StateSource& source, const nn::Executor& executor,
                  GradientExchange& exchange);

/// Bytes of the arrays of rest_state().
std::int64_t rest_state_bytes(const nn::Network& network, const GradientTravel& travel,
                              std::int64_t nodes);

}  // namespace parallel
