// Source of the depthwise kernels. Follows the rules of lanes.h.
#pragma once

#include "workloads/kernels/depthwise_strided.h"
#include "workloads/kernels/depthwise_unit_stride.h"
#include "workloads/kernels/depthwise_wide_strided.h"
#include "workloads/kernels/depthwise_wide_unit_stride.h"

namespace nn {
namespace {

/// Calls run(access) with the access type that writes the row at `to`. Dilated rows are not
/// streamed: their pixels are not written in memory order.
template <class T, class Run>
void with_stores(const DepthwisePlane& plane, const T* to, std::int64_t step, const Run& run) {
  if (plane.channels < kLanes) return run(Partial());
  if (plane.stores == Stores::kCached || plane.dilation > 1 || !can_stream(to, step)) {
    return run(Full());
  }
  run(Streamed());
  finish_streams();
}

template <class T>
void depthwise_forward(const T* src, const float* weights, T* dst, const DepthwisePlane& plane,
                       RowRange rows) {
  with_stores(plane, dst, plane.dst_step, [&](auto access) {
    using Access = decltype(access);
    if (plane.stride == 1) return same_forward<Access>(src, weights, dst, plane, rows);
    for (std::int64_t row = rows.first; row < rows.end; ++row) {
      strided_forward_row<Access>(src, weights, dst, plane, row);
    }
  });
}

template <class T>
void depthwise_gradients(const T* src, const T* diff_dst, const float* weights, T* diff_src,
                         const DepthwisePlane& plane, RowRange rows, double* sums) {
  with_stores(plane, diff_src, plane.src_step, [&](auto access) {
    same_gradients<decltype(access)>(src, diff_dst, weights, diff_src, plane, rows, sums);
  });
}

template <class T>
void depthwise_source_gradient(const T* diff_dst, const float* weights, T* diff_src,
                               const DepthwisePlane& plane, RowRange rows) {
  with_stores(plane, diff_src, plane.src_step, [&](auto access) {
    for (std::int64_t row = rows.first; row < rows.end; ++row) {
      strided_gradient_row<decltype(access)>(diff_dst, weights, diff_src, plane, row);
    }
  });
}

template <class T>
void depthwise_weights_gradient(const T* src, const T* diff_dst, const DepthwisePlane& plane,
                                RowRange rows, double* sums) {
  for (std::int64_t row = rows.first; row < rows.end; ++row) {
    if (plane.channels == kLanes) {
      strided_weights_row<Full>(src, diff_dst, plane, row, sums);
    } else {
      strided_weights_row<Partial>(src, diff_dst, plane, row, sums);
    }
  }
}

template <class T>
void depthwise_wide_forward(const T* src, const float* weights, T* dst, const DepthwisePlane& plane,
                            RowRange rows) {
  const auto run = plane.stride == 1 ? wide_same_forward<T> : wide_strided_forward<T>;
  run(src, weights, dst, plane, rows);
}

template <class T>
void depthwise_wide_gradients(const T* src, const T* diff_dst, const float* weights, T* diff_src,
                              const DepthwisePlane& plane, RowRange rows, double* sums) {
  const auto run = plane.stride == 1 ? wide_same_gradients<T> : wide_strided_gradients<T>;
  run(src, diff_dst, weights, diff_src, plane, rows, sums);
}

template <class T>
constexpr DepthwiseKernels<T> kDepthwise = {
    depthwise_forward<T>,          depthwise_gradients<T>,    depthwise_source_gradient<T>,
    depthwise_weights_gradient<T>, depthwise_wide_forward<T>, depthwise_wide_gradients<T>};

}  // namespace
}  // namespace nn
