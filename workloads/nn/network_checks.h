// What the functions that append operations to a network share: checks, shapes as text, and
// windows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/nn/network.h"

namespace nn::network {

std::string to_text(const SampleShape& shape);
/// Throws ShapeError naming the operation unless `condition` holds.
void require(bool condition, const std::string& name, const std::string& expected,
             const std::string& found);
/// Output extents of the operation's windows over `src`.
std::vector<std::int64_t> window_extents(const Operation& operation, const SampleShape& src);
/// An operation with the same kernel and stride on all axes of `shape`; an empty `padding` means
/// none.
Operation windowed(OperationKind kind, const std::string& name, ValueId src, std::int64_t kernel,
                   std::int64_t stride, const Padding& padding, const SampleShape& shape);

}  // namespace nn::network
