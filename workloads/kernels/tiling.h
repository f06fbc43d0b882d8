// The size of the blocks that layouts and kernels are made of.
#pragma once

#include <cstdint>

namespace nn {

/// Channels of a block of a blocked layout, and floats of the widest vector.
constexpr int kLanes = 16;

/// Floats, or bf16 pairs, of a tile of 16 x 16.
constexpr std::int64_t kTileWords = kLanes * kLanes;

}  // namespace nn
