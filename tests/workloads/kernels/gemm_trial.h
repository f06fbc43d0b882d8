// Sizes of packed operands and the initial value of results, for tests of matrix products.
#pragma once

#include <cstdint>

namespace gemm {

/// Rows of a block and columns of a panel.
inline constexpr std::int64_t kLanes = 16;
/// Words of a tile.
inline constexpr std::int64_t kTile = kLanes * kLanes;
/// Initial value of the elements of a result, also of those that must not be written.
inline constexpr float kInitialResult = 77.0F;

}  // namespace gemm
