// Bytes that layers read from memory and write to it.
#pragma once

#include <cstdint>

#include "workloads/nn/layer.h"

namespace nn {

/// Bytes that a forward pass reads and writes, parameters included, each once.
std::int64_t operand_bytes(const Planner& planner, ValueId made);

/// Bytes moved by all passes of a training step over a layer; a sweep counts each operand once. A
/// product has three sweeps: forward and both gradients (two if the source has no gradient). Other
/// operations have two: forward, and backward over the gradients, plus the source where the
/// gradient depends on it. Recomputing counts as another forward pass. A batch norm also sweeps its
/// source for its sums, and backward source and gradient, unless they are still in the caches.
/// Contributions of several readers to a value's gradient are added one by one; with
/// `adds_gradients` (Layer::adds_gradients()) the layer reads the first two in one sweep.
std::int64_t moved_bytes(const Planner& planner, ValueId made, bool adds_gradients);

}  // namespace nn
