// Transposed convolutions to few channels by own products, on activations in blocks of 16
// channels, and in matrix tiles on those whose channels are last.
// Hides how rows are shared out over threads, and the fixed order of sums.
#pragma once

#include <memory>

#include "workloads/nn/layer.h"

namespace nn {

/// Whether there are kernels of what is multiplied, floats or pairs of bfloat16 numbers, and the
/// source's layout and the number of products are such as they take.
bool suits_own_narrow(const Operation& operation, const Planner& planner);
std::unique_ptr<Layer> make_own_narrow(const Operation& operation, Planner& planner);

}  // namespace nn
