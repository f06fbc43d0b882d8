// What layers read from memory and write to it.
// Hides which operands an operation has, and how often its passes go over them.
#pragma once

#include <cstdint>

#include "workloads/nn/layer.h"

namespace nn {

/// Bytes of a forward pass: what it reads and writes, parameters too, each once.
std::int64_t operand_bytes(const Planner& planner, ValueId made);

/// Bytes of all passes of a training step over a layer, each sweep's operands once: of a product,
/// forward and both gradients; of others forward, and backward the gradients of what was read and
/// written, with the source where they depend on it; and what is made again. A batch norm goes over
/// its source for its sums, and backward over source and gradient, before it uses them, unless they
/// are in the caches then. What several readers give to a value's gradient is added up first, part
/// by part; `adds_gradients`: as the layer has it, of which it then reads two in one sweep.
std::int64_t moved_bytes(const Planner& planner, ValueId made, bool adds_gradients);

}  // namespace nn
