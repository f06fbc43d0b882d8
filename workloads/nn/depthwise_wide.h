// Depthwise kernels on points of all channels. As kernels_body.h, whose part it is: compiled once
// per instruction set, internal linkage, nothing of the standard library.
// Hides the order in which points, channels and taps are met.
#pragma once

#include "workloads/nn/depthwise_points.h"

namespace nn {
namespace {

/// A segment's points in two rows that are as far apart as a window's taps, and the lines and
/// columns that they meet.
template <int kStride, int kDilation>
struct Patch {
  static constexpr int kLines = (kWideRows - 1) * kStride + kSideTaps;
  static constexpr int kColumns = (kSegment - 1) * kStride + 2 * kDilation + 1;
  /// Whether a point meets what stands in a column and a line of the patch.
  static constexpr bool meets(int line, int row, int column, int point) {
    const int down = line - row * kStride, right = column - point * kStride;
    return down >= 0 && down < kSideTaps && right >= 0 && right <= 2 * kDilation &&
           right % kDilation == 0;
  }
  static constexpr int tap(int line, int row, int column, int point) {
    return (line - row * kStride) * kSideTaps + (column - point * kStride) / kDilation;
  }
};

/// A segment of two rows, 16 channels of it at a time. All that is known when compiled is unrolled:
/// then no more sums are open at a time than registers hold.
template <int kStride, int kDilation, class T>
struct WideConvolution {
  using P = Patch<kStride, kDilation>;
  using Met = MetPoints<P::kLines, P::kColumns, T>;
  using Results = WideResults<kSegment, T>;

  template <class Access>
  static void sums(const Met& met, const WideBlock& of, const float* weights,
                   WidePlaces<T> results) {
    const WideTaps taps(weights, false);
    Lanes sums[kWideRows][kSegment] = {};
#pragma GCC unroll 32
    for (int column = 0; column < P::kColumns; ++column) {
#pragma GCC unroll 8
      for (int line = 0; line < P::kLines; ++line) {
        const Lanes value = Access::load(met.at[line][column] + of.place(), of.channels);
#pragma GCC unroll 2
        for (int row = 0; row < kWideRows; ++row) {
#pragma GCC unroll 8
          for (int point = 0; point < kSegment; ++point) {
            if (!P::meets(line, row, column, point)) continue;
            sums[row][point] += value * taps.at[P::tap(line, row, column, point)];
          }
        }
      }
    }
    put_all<Access>(sums, of, results);
  }

  /// As sums(), with the taps turned round; `sources` are multiplied with the columns that they
  /// meet, which is added to totals [9][16].
  template <class Access>
  static void gradients(const Met& met, const MetPoints<kWideRows, kSegment, T>& sources,
                        const WideBlock& of, const float* weights, WidePlaces<T> results,
                        float* totals) {
    constexpr int kLast = DepthwisePlane::kTaps - 1;
    const WideTaps taps(weights, true);
    Lanes products[DepthwisePlane::kTaps] = {};
    Lanes sums[kWideRows][kSegment] = {}, source[kWideRows][kSegment];
#pragma GCC unroll 32
    for (int column = 0; column < P::kColumns; ++column) {
#pragma GCC unroll 8
      for (int line = 0; line < P::kLines; ++line) {
        const Lanes value = Access::load(met.at[line][column] + of.place(), of.channels);
#pragma GCC unroll 2
        for (int row = 0; row < kWideRows; ++row) {
#pragma GCC unroll 8
          for (int point = 0; point < kSegment; ++point) {
            if (!P::meets(line, row, column, point)) continue;
            const int tap = P::tap(line, row, column, point);
            if (tap == 0) {  // the first one met
              source[row][point] = Access::load(sources.at[row][point] + of.place(), of.channels);
            }
            sums[row][point] += value * taps.at[tap];
            products[tap] += value * source[row][point];
          }
        }
      }
    }
    put_all<Access>(sums, of, results);
#pragma GCC unroll 9
    for (int tap = 0; tap <= kLast; ++tap) {
      float* const to = totals + (kLast - tap) * kLanes;
      Full::store(to, Full::load(to, kLanes) + products[tap], kLanes);
    }
  }

 private:
  template <class Access>
  static void put_all(const Lanes (&sums)[kWideRows][kSegment], const WideBlock& of,
                      WidePlaces<T> results) {
#pragma GCC unroll 2
    for (int row = 0; row < kWideRows; ++row) {
#pragma GCC unroll 8
      for (int point = 0; point < kSegment; ++point) {
        results.template put<Access>(row, point, of.place(), sums[row][point], of.channels);
      }
    }
  }
};

template <int kStride, int kDilation, class T>
void wide_forward(const T* src, const float* weights, T* dst, const DepthwisePlane& plane,
                  RowRange rows) {
  using Convolution = WideConvolution<kStride, kDilation, T>;
  constexpr int kFirstNew = kStride == 1 ? 2 : 1;  // of lines: the rows before met the others
  for_wide_channels(plane, [&](int first, int channels) {
    const WideRows<T> sources = {src + first, plane.height, plane.width, plane.src_step};
    typename Convolution::Results results(dst + first, plane.dst_width(), plane.dst_step, channels,
                                          passes_caches(plane));
    for_row_pairs(rows, kDilation, [&](std::int64_t row, int count) {
      for_each_segment(plane.dst_width(), [&](std::int64_t column, int points) {
        const std::int64_t top = row * kStride - kDilation, left = column * kStride - kDilation;
        typename Convolution::Met met;
        met.find(sources, top, kDilation, left);
        const WidePlaces<T> places = results.begin(row, kDilation, column, count, points);
        for_each_wide_block(channels, [&](auto access, const WideBlock& of) {
          results.pass(of.block);
          for (int line = kFirstNew; line < Convolution::P::kLines; ++line) {
            sources.ask(top + line * kDilation, left, of.block, kSegment * kStride);
          }
          Convolution::template sums<decltype(access)>(
              met, of, weights + (first + of.place()) * DepthwisePlane::kTaps, places);
        });
      });
    });
    results.finish();
  });
  finish_streams();
}

/// Without a stride: rows of the source's gradient, and what rows of the source give to the
/// weights'.
template <int kDilation, class T>
void wide_gradients(const T* src, const T* diff_dst, const float* weights, T* diff_src,
                    const DepthwisePlane& plane, RowRange rows, double* sums) {
  using Convolution = WideConvolution<1, kDilation, T>;
  constexpr int kFirstNew = 2;
  const std::int64_t step = plane.src_step, width = plane.width;
  WideTotals totals;
  for_wide_channels(plane, [&](int first, int channels) {
    const WideRows<T> sources = {src + first, plane.height, width, step};
    const WideRows<T> gradients = {diff_dst + first, plane.height, width, step};
    typename Convolution::Results results(diff_src + first, width, step, channels,
                                          passes_caches(plane));
    for_row_pairs(rows, kDilation, [&](std::int64_t row, int count) {
      totals.clear(channels);
      for_each_segment(width, [&](std::int64_t column, int points) {
        typename Convolution::Met met;
        MetPoints<kWideRows, kSegment, T> own;
        met.find(gradients, row - kDilation, kDilation, column - kDilation);
        own.find(sources, row, kDilation, column);
        for (int i = 0; count == 1 && i < kSegment; ++i) own.at[1][i] = kZeros<T>;
        const WidePlaces<T> places = results.begin(row, kDilation, column, count, points);
        for_each_wide_block(channels, [&](auto access, const WideBlock& of) {
          results.pass(of.block);
          for (int line = kFirstNew; line < Convolution::P::kLines; ++line) {
            gradients.ask(row + (line - 1) * kDilation, column, of.block, kSegment);
          }
          for (int i = 0; i < kWideRows; ++i) {
            sources.ask(row + i * kDilation, column, of.block, kSegment);
          }
          Convolution::template gradients<decltype(access)>(
              met, own, of, weights + (first + of.place()) * DepthwisePlane::kTaps, places,
              totals.of(of));
        });
      });
      totals.add_to(sums + std::int64_t{first} * DepthwisePlane::kTaps, channels);
    });
    results.finish();
  });
  finish_streams();
}

/// With a stride of two: two neighbouring points of a row at a time, each of which gives to four of
/// the source's gradient, together with those beside and below it.
template <class T>
struct WideSpread {
  static constexpr int kPoints = 2, kStride = 2;
  using Gradients = MetPoints<2, kSegment + 1, T>;
  using Sources = MetPoints<kSideTaps, kSegment * kStride + 1, T>;
  using Results = WideResults<kSegment * kStride, T>;

  template <class Access>
  static void gradients(const Gradients& met, const Sources& sources, const WideBlock& of,
                        const float* weights, int points, WidePlaces<T> results, float* totals) {
    const WideTaps taps(weights, false);
    Lanes products[DepthwisePlane::kTaps] = {};
    for (int first = 0; first < points; first += kPoints) {
      Lanes g[2][kPoints + 1];
#pragma GCC unroll 2
      for (int line = 0; line < 2; ++line) {
#pragma GCC unroll 3
        for (int point = 0; point <= kPoints; ++point) {
          g[line][point] = Access::load(met.at[line][first + point] + of.place(), of.channels);
        }
      }
      const auto put = [&](int row, int point, const Lanes& value) {
        results.template put<Access>(row, point, of.place(), value, of.channels);
      };
#pragma GCC unroll 2
      for (int point = 0; point < kPoints; ++point) {
        const int at = (first + point) * kStride;
        const Lanes &here = g[0][point], &right = g[0][point + 1];
        const Lanes &below = g[1][point], &beyond = g[1][point + 1];
        put(0, at, here * taps.at[4]);
        put(0, at + 1, here * taps.at[5] + right * taps.at[3]);
        put(1, at, here * taps.at[7] + below * taps.at[1]);
        put(1, at + 1,
            (here * taps.at[8] + right * taps.at[6]) + (below * taps.at[2] + beyond * taps.at[0]));
      }
#pragma GCC unroll 5
      for (int column = 0; column <= kPoints * kStride; ++column) {
#pragma GCC unroll 3
        for (int line = 0; line < kSideTaps; ++line) {
          const Lanes value =
              Access::load(sources.at[line][first * kStride + column] + of.place(), of.channels);
#pragma GCC unroll 2
          for (int point = 0; point < kPoints; ++point) {
            const int tap = column - point * kStride;
            if (tap < 0 || tap >= kSideTaps) continue;
            products[line * kSideTaps + tap] += value * g[0][point];
          }
        }
      }
    }
#pragma GCC unroll 9
    for (int tap = 0; tap < DepthwisePlane::kTaps; ++tap) {
      float* const to = totals + tap * kLanes;
      Full::store(to, Full::load(to, kLanes) + products[tap], kLanes);
    }
  }
};

/// With a stride of two: what rows of the destination's gradient give to the weights', and the rows
/// of the source's of which theirs are the first.
template <class T>
void wide_spread(const T* src, const T* diff_dst, const float* weights, T* diff_src,
                 const DepthwisePlane& plane, RowRange rows, double* sums) {
  using Spread = WideSpread<T>;
  constexpr int kStride = Spread::kStride;
  const std::int64_t step = plane.src_step, dst_width = plane.dst_width();
  WideTotals totals;
  for_wide_channels(plane, [&](int first, int channels) {
    const WideRows<T> sources = {src + first, plane.height, plane.width, step};
    const WideRows<T> gradients = {diff_dst + first, plane.dst_height(), dst_width, step};
    typename Spread::Results results(diff_src + first, plane.width, step, channels,
                                     passes_caches(plane));
    for (std::int64_t row = rows.first; row < rows.end; ++row) {
      const std::int64_t top = row * kStride;
      const int count = top + 1 < plane.height ? 2 : 1;
      totals.clear(channels);
      for_each_segment(dst_width, [&](std::int64_t column, int points) {
        const std::int64_t left = column * kStride, there = plane.width - left;
        typename Spread::Gradients met;
        typename Spread::Sources own;
        met.find(gradients, row, 1, column);
        own.find(sources, top - 1, 1, left - 1);
        const WidePlaces<T> places =
            results.begin(top, 1, left, count,
                          there < points * kStride ? static_cast<int>(there) : points * kStride);
        for_each_wide_block(channels, [&](auto access, const WideBlock& of) {
          results.pass(of.block);
          gradients.ask(row + 1, column, of.block, kSegment);
          for (int i = 0; i < 2; ++i) sources.ask(top + i, left, of.block, kSegment * kStride);
          Spread::template gradients<decltype(access)>(
              met, own, of, weights + (first + of.place()) * DepthwisePlane::kTaps, points, places,
              totals.of(of));
        });
      });
      totals.add_to(sums + std::int64_t{first} * DepthwisePlane::kTaps, channels);
    }
    results.finish();
  });
  finish_streams();
}

template <class T>
void depthwise_wide_forward(const T* src, const float* weights, T* dst, const DepthwisePlane& plane,
                            RowRange rows) {
  if (plane.stride == 2) return wide_forward<2, 1>(src, weights, dst, plane, rows);
  if (plane.dilation == 2) return wide_forward<1, 2>(src, weights, dst, plane, rows);
  wide_forward<1, 1>(src, weights, dst, plane, rows);
}

template <class T>
void depthwise_wide_gradients(const T* src, const T* diff_dst, const float* weights, T* diff_src,
                              const DepthwisePlane& plane, RowRange rows, double* sums) {
  if (plane.stride == 2) {
    return wide_spread(src, diff_dst, weights, diff_src, plane, rows, sums);
  }
  if (plane.dilation == 2) {
    return wide_gradients<2>(src, diff_dst, weights, diff_src, plane, rows, sums);
  }
  wide_gradients<1>(src, diff_dst, weights, diff_src, plane, rows, sums);
}

}  // namespace
}  // namespace nn
