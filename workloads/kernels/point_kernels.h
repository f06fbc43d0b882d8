// Products of channels, point by point and summed over points, of activations whose channels are in
// blocks.
// Hides nothing.
#pragma once

#include <cstdint>

#include "workloads/kernels/stores.h"

namespace nn {

struct PointKernels {
  static constexpr std::int64_t kBlock = 16;  ///< channels
  /// Of a convolution, with which these were measured: they stay in the second cache.
  static constexpr std::int64_t kMostWeights = 32 << 10;
  /// Points of blocks of channels: point i of a block b is at first + b * block_step + i *
  /// point_step, in floats.
  struct Points {
    const float* first = nullptr;
    std::int64_t blocks = 0, block_step = 0, point_step = kBlock;
    /// As `first`, of as many points that are read next, which are fetched. Null: none are.
    const float* next = nullptr;
  };
  /// sums [out blocks][channels of in][16 of out] = sum over `count` points of in times out, or +=
  /// with `add`.
  void (*sum_products)(const Points& in, const Points& out, std::int64_t count, float* sums,
                       bool add);
  /// As Points, that are written: block_step and point_step as there.
  struct Written {
    float* first = nullptr;
    std::int64_t blocks = 0, block_step = 0, point_step = kBlock;
    /// Floats of a block from `first` on, all of which are written: zeros but for the points.
    std::int64_t end = 0;
    Stores stores = Stores::kCached;  ///< streamed: `first` begins a line of memory
  };
  /// `count` points of `out` = those of `in` times weights [blocks of out][channels of in][16 of
  /// out]. A point has the same bits whatever is beside it.
  void (*multiply)(const Points& in, std::int64_t count, const float* weights, const Written& out);
};

}  // namespace nn
