// Kernels of products of points with a matrix of few columns, which the library's convolutions pad
// and wait for memory with.
// Hides tiles of points, and what is asked of memory ahead.
#pragma once

#include <cstdint>

#include "workloads/kernels/stores.h"

namespace nn {

/// Points of `blocks` times 16 channels; blocks stand block_stride values apart. Each has up to 28
/// products, in 32 places.
struct NarrowShape {
  static constexpr std::int64_t kBlock = 16, kMost = 28, kPlaces = 32;
  std::int64_t blocks = 0, block_stride = 0;
  std::int64_t outputs = 0;         ///< products that are made, 1..kMost
  Stores stores = Stores::kCached;  ///< of the source's gradient
  /// Values from a point to the next. Kernels in tiles take points whose channels are all side by
  /// side; others take those of a block side by side.
  std::int64_t point_step = kBlock;
};

/// On activations of one type, float or Bf16, by factors of one type: floats, or Bf16, of which two
/// are multiplied at a time. Sums are floats.
template <class T, class Factor>
struct NarrowKernels {
  /// products [points][32] = src weights, of weights [16 blocks][32]; of pairs [8 blocks][32][2],
  /// by channel. A point's do not depend on which others are asked for.
  void (*forward)(const T* src, const Factor* weights, const NarrowShape& shape,
                  std::int64_t points, float* products) = nullptr;
  /// planes [32], `pitch` numbers apart, = products [points][32].
  void (*part)(const float* products, std::int64_t points, std::int64_t pitch,
               float* planes) = nullptr;
  /// diff_products [points][32] = rows [outputs] of as many numbers, zeros behind them.
  void (*join)(const float* const* rows, std::int64_t outputs, std::int64_t points,
               Factor* diff_products) = nullptr;
  /// diff_src = diff_products [points][32] weights, of weights [blocks][outputs][16]; of pairs
  /// [blocks][16 pairs][16][2], by output, zeros behind the last one, as behind the diff_products
  /// of a point.
  void (*source_gradient)(const Factor* diff_products, const Factor* weights,
                          const NarrowShape& shape, std::int64_t points, T* diff_src) = nullptr;
  /// sums [blocks][32][16] += products of src and diff_products [points][32], by output. All places
  /// of diff_products are read. A call's products are summed in floats.
  void (*weights_gradient)(const T* src, const Factor* diff_products, const NarrowShape& shape,
                           std::int64_t points, float* sums) = nullptr;
};

}  // namespace nn
