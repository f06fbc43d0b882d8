// Depthwise kernels with strides above 1. Follows the rules of lanes.h.
#pragma once

#include "workloads/kernels/depthwise_lines.h"

namespace nn {
namespace {

/// With stride 2, the column after a pixel is the one before the next pixel.
template <class Access, int kLines, class T>
void strided_row(const Lines<T>& given, T* dst, const DepthwisePlane& plane) {
  using Column = Columns<Access, 1, kLines, T, 2>;
  const KnownLines<1, kLines, T> lines(given);
  const std::int64_t ahead = points_ahead<T>(plane.src_step);
  const auto column = [&](std::int64_t x) {
    return Column(lines, x * plane.src_step, plane.channels, ahead);
  };
  const std::int64_t points = plane.dst_width();
  Column behind = column(0);
  for (std::int64_t point = 0; point < points; ++point) {
    const std::int64_t at = point * plane.stride;
    Lanes sum = zero();
    if (at > 0) sum = (plane.stride == 2 ? behind : column(at - 1)).sum(lines, 0, 0, sum);
    sum = column(at).sum(lines, 0, 1, sum);
    if (at + 1 < plane.width) {
      behind = column(at + 1);
      sum = behind.sum(lines, 0, 2, sum);
    }
    store_point<Access>(dst + point * plane.dst_step, sum, plane.channels, plane.dst_step);
  }
}

template <class Access, class T>
void strided_forward_row(const T* src, const float* weights, T* dst, const DepthwisePlane& plane,
                         std::int64_t row) {
  const Lines<T> lines = met_lines(src, plane.src_step, {weights}, plane, row);
  T* const to = dst + row * plane.dst_width() * plane.dst_step;
  with_lines<1>(lines.count,
                [&](auto met) { strided_row<Access, decltype(met)::kCount>(lines, to, plane); });
}

/// Each pixel of the destination contributes to the columns before it, at it and after it. With
/// stride 2, the column between two pixels receives from both.
template <class Access, int kLines, class T>
void spread_row(const Lines<T>& given, T* diff_src, const DepthwisePlane& plane) {
  const KnownLines<1, kLines, T> lines(given);
  const auto put = [&](std::int64_t x, const Lanes& value) {
    if (x >= plane.width) return;
    store_point<Access>(diff_src + x * plane.src_step, value, plane.channels, plane.src_step);
  };
  const std::int64_t points = plane.dst_width(), stride = plane.stride;
  const std::int64_t ahead = points_ahead<T>(plane.dst_step);
  Lanes behind = zero();
  for (std::int64_t point = 0; point < points; ++point) {
    const std::int64_t at = point * stride;
    const Columns<Access, 1, kLines, T> column(lines, point * plane.dst_step, plane.channels,
                                               ahead);
    if (point > 0) {
      if (stride > 2) put(at - stride + 1, behind);
      for (std::int64_t x = at - stride + 2; x < at - 1; ++x) put(x, zero());
      put(at - 1, column.sum(lines, 0, 0, stride > 2 ? zero() : behind));
    }
    put(at, column.sum(lines, 0, 1, zero()));
    behind = column.sum(lines, 0, 2, zero());
  }
  const std::int64_t last = (points - 1) * stride;
  put(last + 1, behind);
  for (std::int64_t x = last + 2; x < plane.width; ++x) put(x, zero());
}

template <class Access, class T>
void strided_gradient_row(const T* diff_dst, const float* weights, T* diff_src,
                          const DepthwisePlane& plane, std::int64_t row) {
  Lines<T> lines;
  for (int line = 0; line < kSideTaps; ++line) {
    const std::int64_t y = row + 1 - line;
    if (y < 0 || y % plane.stride != 0 || y / plane.stride >= plane.dst_height()) continue;
    add_line(lines, line, diff_dst + y / plane.stride * plane.dst_width() * plane.dst_step,
             {weights}, plane);
  }
  T* const to = diff_src + row * plane.width * plane.src_step;
  if (lines.count == 0) {
    for (std::int64_t x = 0; x < plane.width; ++x) {
      Access::store(to + x * plane.src_step, zero(), plane.channels);
    }
    return;
  }
  with_lines<1>(lines.count,
                [&](auto known) { spread_row<Access, decltype(known)::kCount>(lines, to, plane); });
}

/// Lines of the source that a row of the destination reads, and the sums so far of its gradients'
/// products with them [line][tap]. Copied by functions for the same reason as KnownLines.
template <class Access, int kLines, class T>
struct TapSums {
  const T* first[kLines];
  Lanes sums[kLines][kSideTaps];
  void add(int tap, const Lanes& gradient, const Lanes (&column)[kLines]) {
#pragma GCC unroll 3
    for (int line = 0; line < kLines; ++line) sums[line][tap] += gradient * column[line];
  }
  /// Loads the column at `at`. Prefetches the last two lines: of three, the first was read with the
  /// row before.
  void load(std::int64_t at, int channels, std::int64_t ahead, Lanes (&column)[kLines]) const {
#pragma GCC unroll 3
    for (int line = 0; line < kLines; ++line) {
      column[line] = line + 2 < kLines ? Access::load(first[line] + at, channels)
                                       : load_ahead<Access>(first[line] + at, channels, ahead);
    }
  }
};

/// With stride 2, the column after a pixel is the one before the next pixel.
template <class Access, int kLines, class T>
void add_strided_row(TapSums<Access, kLines, T>& given, const T* gradients,
                     const DepthwisePlane& plane) {
  TapSums<Access, kLines, T> sums = given;
  const std::int64_t points = plane.dst_width();
  const std::int64_t ahead = points_ahead<T>(plane.src_step);
  const std::int64_t gradients_ahead = points_ahead<T>(plane.dst_step);
  Lanes behind[kLines] = {}, here[kLines];
  for (std::int64_t point = 0; point < points; ++point) {
    const Lanes gradient =
        load_ahead<Access>(gradients + point * plane.dst_step, plane.channels, gradients_ahead);
    const std::int64_t at = point * plane.stride;
    if (at > 0) {
      if (plane.stride > 2) sums.load((at - 1) * plane.src_step, plane.channels, ahead, behind);
      sums.add(0, gradient, behind);
    }
    sums.load(at * plane.src_step, plane.channels, ahead, here);
    sums.add(1, gradient, here);
    if (at + 1 == plane.width) continue;
    sums.load((at + 1) * plane.src_step, plane.channels, ahead, behind);
    sums.add(2, gradient, behind);
  }
  given = sums;
}

/// Sums of a row are in float, totals in double.
template <class Access, class T>
void strided_weights_row(const T* src, const T* diff_dst, const DepthwisePlane& plane,
                         std::int64_t row, double* totals) {
  const T* first[kSideTaps];
  int lines[kSideTaps], count = 0;
  for (int line = 0; line < kSideTaps; ++line) {
    const std::int64_t y = row * plane.stride + line - 1;
    if (y < 0 || y >= plane.height) continue;
    first[count] = src + y * plane.width * plane.src_step;
    lines[count++] = line;
  }
  const T* const gradients = diff_dst + row * plane.dst_width() * plane.dst_step;
  with_lines<1>(count, [&](auto known) {
    constexpr int kLines = decltype(known)::kCount;
    TapSums<Access, kLines, T> sums;
    for (int line = 0; line < kLines; ++line) {
      sums.first[line] = first[line];
      for (Lanes& sum : sums.sums[line]) sum = zero();
    }
    add_strided_row(sums, gradients, plane);
    for (int line = 0; line < kLines; ++line) add_products(sums.sums[line], lines[line], totals);
  });
}

}  // namespace
}  // namespace nn
