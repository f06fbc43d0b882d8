// A network's first convolution, of images of few channels, in bfloat16 in AMX tiles.
#pragma once

#include <memory>

#include "workloads/nn/layer.h"

namespace nn {

/// Whether make_stem() supports the operation: the network's input in bfloat16, no bias, no
/// dilation, a multiple of 16 output channels, and rows of windows with at most 32 elements (one
/// AMX tile row) or a multiple of 16 up to 128 (k or k + 1/2 tile rows). Needs AMX tiles, without
/// which oneDNN multiplies windows of so few elements.
bool suits_stem(const Operation& operation, const Planner& planner);
/// REQUIRES: suits_stem(operation, planner).
std::unique_ptr<Layer> make_stem(const Operation& operation, Planner& planner);

}  // namespace nn
