// The convolution of images of few channels that a network begins with, in bfloat16, in the CPU's
// matrix tiles.
// Hides everything but make_stem().
#pragma once

#include <memory>

#include "workloads/nn/layer.h"

namespace nn {

/// Whether a row of the operation's window is a row of a tile, or some and a half, in bfloat16, and
/// the CPU has tiles. The library multiplies such windows of few numbers without them.
bool suits_stem(const Operation& operation, const Planner& planner);
/// Of an operation that suits.
std::unique_ptr<Layer> make_stem(const Operation& operation, Planner& planner);

}  // namespace nn
