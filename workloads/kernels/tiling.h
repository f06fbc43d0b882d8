// The size of the blocks that layouts and kernels are made of.
#pragma once

namespace nn {

/// Channels of a block of a blocked layout, and floats of the widest vector.
constexpr int kLanes = 16;

}  // namespace nn
