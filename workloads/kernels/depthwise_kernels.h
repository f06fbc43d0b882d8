// Kernels of depthwise convolutions with 3 x 3 taps: every channel is convolved alone.
// Hides edges, and the order in which source columns are met.
#pragma once

#include <cstdint>

#include "workloads/kernels/stores.h"

namespace nn {

/// Planes of up to 16 neighbouring channels, or of all where channels are last, whose rows follow
/// each other. There are `dilation` zeros around the source; with a stride above 1 the dilation is
/// 1.
struct DepthwisePlane {
  static constexpr std::int64_t kTaps = 9;
  static constexpr std::int64_t kBlock = 16;
  std::int64_t height = 0, width = 0;  ///< of the source
  std::int64_t stride = 1, dilation = 1;
  std::int64_t src_step = 0, dst_step = 0;  ///< values from one point to the next
  int channels = 0;                         ///< here, 1..16, or all
  int weights_step = kBlock;                ///< values from one tap's weights to the next, 1..16
  Stores stores = Stores::kCached;          ///< of what is written
  /// Whether the wide kernels take a plane of all channels: so many that a line of memory has those
  /// of two points at most, in pairs. Of 16, the others are as fast.
  bool is_wide() const {
    const bool has_all = src_step == channels && dst_step == channels && weights_step == kBlock;
    return has_all && channels >= 2 * kBlock && channels % 2 == 0 && stride <= 2;
  }
  std::int64_t dst_height() const { return (height - 1) / stride + 1; }
  std::int64_t dst_width() const { return (width - 1) / stride + 1; }
};

/// Rows [first, end) of a plane.
struct RowRange {
  std::int64_t first = 0, end = 0;
};

/// On activations of one type, float or Bf16; sums are of floats. weights [9][weights_step]. No
/// point depends on what other rows are asked for; the last bits of sums do.
template <class T>
struct DepthwiseKernels {
  /// Rows of the destination.
  void (*forward)(const T* src, const float* weights, T* dst, const DepthwisePlane& plane,
                  RowRange rows);
  /// Where the stride is 1: rows of the source's gradient, unless that is null, and sums [9][16]
  /// += what these rows of the source give to the weights' gradient.
  void (*gradients)(const T* src, const T* diff_dst, const float* weights, T* diff_src,
                    const DepthwisePlane& plane, RowRange rows, double* sums);
  /// Where it is above 1: rows of the source's gradient.
  void (*source_gradient)(const T* diff_dst, const float* weights, T* diff_src,
                          const DepthwisePlane& plane, RowRange rows);
  /// The same: sums [9][16] += the weights' gradient by rows of the destination.
  void (*weights_gradient)(const T* src, const T* diff_dst, const DepthwisePlane& plane,
                           RowRange rows, double* sums);
  /// The same of planes that are wide: weights [C / 16][9][16].
  void (*wide_forward)(const T* src, const float* weights, T* dst, const DepthwisePlane& plane,
                       RowRange rows);
  /// Both gradients: rows of the source's, those that begin with some of the destination's where
  /// the stride is 2; sums [C / 16][9][16] += what these rows give to the weights'.
  void (*wide_gradients)(const T* src, const T* diff_dst, const float* weights, T* diff_src,
                         const DepthwisePlane& plane, RowRange rows, double* sums);
};

}  // namespace nn
