// Kernels for 3 x 3 depthwise convolutions, which convolve every channel separately.
#pragma once

#include <cstdint>

#include "workloads/kernels/stores.h"

namespace nn {

/// A plane of up to 16 adjacent channels, or of all channels if channels are last; its rows are
/// contiguous. The source is padded with `dilation` zeros on all sides. A stride above 1 requires
/// dilation 1.
struct DepthwisePlane {
  static constexpr std::int64_t kTaps = 9;
  static constexpr std::int64_t kBlock = 16;
  std::int64_t height = 0, width = 0;  ///< of the source
  std::int64_t stride = 1, dilation = 1;
  std::int64_t src_step = 0, dst_step = 0;  ///< elements from one pixel to the next
  int channels = 0;                         ///< in the plane: 1..16, or all
  int weights_step = kBlock;                ///< elements from one tap's weights to the next, 1..16
  Stores stores = Stores::kCached;          ///< of the output
  /// Whether the wide kernels support the plane: it has all channels, an even number, and enough of
  /// them that a cache line holds channels of at most two pixels. For 16 channels the other kernels
  /// are as fast.
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

/// Kernels on activations of type T, float or Bf16, with sums in float. weights [9][weights_step].
/// A pixel does not depend on which other rows a call computes; the last bits of `sums` do.
template <class T>
struct DepthwiseKernels {
  /// Computes rows of the destination.
  void (*forward)(const T* src, const float* weights, T* dst, const DepthwisePlane& plane,
                  RowRange rows);
  /// For stride 1. Computes rows of the source's gradient, unless diff_src is null; sums [9][16] +=
  /// the contribution of these source rows to the weights' gradient.
  void (*gradients)(const T* src, const T* diff_dst, const float* weights, T* diff_src,
                    const DepthwisePlane& plane, RowRange rows, double* sums);
  /// For strides above 1. Computes rows of the source's gradient.
  void (*source_gradient)(const T* diff_dst, const float* weights, T* diff_src,
                          const DepthwisePlane& plane, RowRange rows);
  /// For strides above 1. sums [9][16] += the contribution of rows of the destination to the
  /// weights' gradient.
  void (*weights_gradient)(const T* src, const T* diff_dst, const DepthwisePlane& plane,
                           RowRange rows, double* sums);
  /// As forward, for wide planes: weights [C / 16][9][16].
  void (*wide_forward)(const T* src, const float* weights, T* dst, const DepthwisePlane& plane,
                       RowRange rows);
  /// Both gradients, for wide planes. Computes rows of the source's gradient; with stride 2, source
  /// rows 2 r and 2 r + 1 for each r of `rows`.
  /// sums [C / 16][9][16] += the contribution of these source rows to the weights' gradient.
  void (*wide_gradients)(const T* src, const T* diff_dst, const float* weights, T* diff_src,
                         const DepthwisePlane& plane, RowRange rows, double* sums);
};

}  // namespace nn
