// Depthwise kernels with stride 1, which read each column once for the three pixels that it
// contributes to. Follows the rules of lanes.h.
#pragma once

#include "workloads/kernels/depthwise_lines.h"

namespace nn {
namespace {

/// Sums of a row whose columns have not all been added yet.
struct OpenSums {
  Lanes before = zero(), here = zero();
  /// Adds the next column and returns the complete sum of the pixel before it.
  template <class Column, class Known>
  Lanes meet(const Column& column, const Known& lines, int row) {
    const Lanes ended = column.sum(lines, row, 2, before);
    before = column.sum(lines, row, 1, here);
    here = column.sum(lines, row, 0, zero());
    return ended;
  }
};

/// Computes pixels of adjacent rows, each from the columns `dilation` before it, at it and
/// `dilation` after it. A column is read once: it completes the sum of the pixel before, continues
/// that of its own and begins that of the next.
template <class Access, int kRows, int kMet, class T>
void same_rows(const Lines<T>& given, T* dst, const DepthwisePlane& plane) {
  const KnownLines<kRows, kMet, T> lines(given);
  const std::int64_t apart = plane.dilation, width = plane.width;
  const std::int64_t src_step = plane.src_step, dst_step = plane.dst_step;
  const std::int64_t next = width * dst_step, ahead = points_ahead<T>(src_step);
  const int channels = plane.channels;
  for (std::int64_t begin = 0; begin < apart && begin < width; ++begin) {
    OpenSums sums[kRows];
    std::int64_t x = begin;
    for (; x < width; x += apart) {
      const Columns<Access, kRows, kMet, T> column(lines, x * src_step, channels, ahead);
#pragma GCC unroll 2
      for (int row = 0; row < kRows; ++row) {
        const Lanes ended = sums[row].meet(column, lines, row);
        if (x < apart) continue;
        store_point<Access>(dst + row * next + (x - apart) * dst_step, ended, channels, dst_step);
      }
    }
    for (int row = 0; row < kRows; ++row) {
      Access::store(dst + row * next + (x - apart) * dst_step, sums[row].before, channels);
    }
  }
}

/// Calls run(row, Count<n>()) for all of `rows`: several together if they are adjacent and all
/// their lines are inside the plane, else one. Dilated rows are read and written in several passes,
/// for which memory is too slow with several rows.
template <class Run>
void for_same_rows(RowRange rows, const DepthwisePlane& plane, const Run& run) {
  std::int64_t row = rows.first;
  while (row < rows.end) {
    const bool are_inside = row > 0 && row + kRowsTogether < plane.height;
    if (plane.dilation > 1 || !are_inside || row + kRowsTogether > rows.end) {
      run(row, Count<1>());
      ++row;
    } else {
      run(row, Count<kRowsTogether>());
      row += kRowsTogether;
    }
  }
}

template <class Access, class T>
void same_forward(const T* src, const float* weights, T* dst, const DepthwisePlane& plane,
                  RowRange rows) {
  for_same_rows(rows, plane, [&](std::int64_t row, auto together) {
    constexpr int kRows = decltype(together)::kCount;
    const Lines<T> lines = met_lines(src, plane.src_step, {weights}, plane, row, kRows);
    T* const to = dst + row * plane.width * plane.dst_step;
    with_lines<kRows>(lines.count, [&](auto met) {
      same_rows<Access, kRows, decltype(met)::kCount>(lines, to, plane);
    });
  });
}

/// With stride 1, the source's gradient is a convolution with the taps in reverse order. The
/// columns of the destination's gradient that it reads are also multiplied by source rows for the
/// weights' gradient. diff_src may be null. products [line][tap].
template <class Access, int kRows, int kMet, class T>
void same_gradients_rows(const Lines<T>& given, const T* src, T* diff_src,
                         const DepthwisePlane& plane, Lanes (&products)[kSideTaps][kSideTaps]) {
  const KnownLines<kRows, kMet, T> lines(given);
  const std::int64_t apart = plane.dilation, width = plane.width;
  const std::int64_t src_step = plane.src_step, dst_step = plane.dst_step;
  const std::int64_t next = width * src_step;
  const std::int64_t src_ahead = points_ahead<T>(src_step), ahead = points_ahead<T>(dst_step);
  const int channels = plane.channels;
  const auto source = [&](int row, std::int64_t x) {
    if (x >= width) return zero();
    return load_ahead<Access>(src + row * next + x * src_step, channels, src_ahead);
  };
  const auto put = [&](int row, std::int64_t x, const Lanes& value) {
    if (diff_src == nullptr) return;
    store_point<Access>(diff_src + row * next + x * src_step, value, channels, src_step);
  };
  Lanes sums[kMet][kSideTaps] = {};
  for (std::int64_t begin = 0; begin < apart && begin < width; ++begin) {
    OpenSums open[kRows];
    Lanes met[kRows][kSideTaps] = {};
    for (int row = 0; row < kRows; ++row) met[row][2] = source(row, begin);
    std::int64_t x = begin;
    for (; x < width; x += apart) {
      const Columns<Access, kRows, kMet, T> column(lines, x * dst_step, channels, ahead);
#pragma GCC unroll 2
      for (int row = 0; row < kRows; ++row) {
        met[row][0] = met[row][1];
        met[row][1] = met[row][2];
        met[row][2] = source(row, x + apart);
#pragma GCC unroll 3
        for (int line = 0; line < kMet; ++line) {
#pragma GCC unroll 3
          for (int tap = 0; tap < kSideTaps; ++tap) {
            sums[line][tap] += column.values[row + line] * met[row][tap];
          }
        }
        const Lanes ended = open[row].meet(column, lines, row);
        if (x >= apart) put(row, x - apart, ended);
      }
    }
    for (int row = 0; row < kRows; ++row) put(row, x - apart, open[row].before);
  }
#pragma GCC unroll 3
  for (int line = 0; line < kMet; ++line) {
#pragma GCC unroll 3
    for (int tap = 0; tap < kSideTaps; ++tap) products[line][tap] = sums[line][tap];
  }
}

template <class Access, class T>
void same_gradients(const T* src, const T* diff_dst, const float* weights, T* diff_src,
                    const DepthwisePlane& plane, RowRange rows, double* totals) {
  for_same_rows(rows, plane, [&](std::int64_t row, auto together) {
    constexpr int kRows = decltype(together)::kCount;
    const Lines<T> lines = met_lines(diff_dst, plane.dst_step, {weights, true}, plane, row, kRows);
    const std::int64_t at = row * plane.width * plane.src_step;
    T* const to = diff_src == nullptr ? nullptr : diff_src + at;
    Lanes products[kSideTaps][kSideTaps];
    with_lines<kRows>(lines.count, [&](auto met) {
      same_gradients_rows<Access, kRows, decltype(met)::kCount>(lines, src + at, to, plane,
                                                                products);
    });
    for (int line = 0; line < lines.count; ++line) {
      add_products(products[line], kSideTaps - 1 - lines.which[line], totals);
    }
  });
}

}  // namespace
}  // namespace nn
