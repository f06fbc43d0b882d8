// Depthwise kernels with a stride of two on points of all channels. As kernels_body.h, whose part
// it is: compiled once per instruction set, internal linkage, nothing of the standard library.
// Hides the order in which points, channels and taps are met.
#pragma once

#include "workloads/nn/depthwise_points.h"

namespace nn {
namespace {

constexpr int kWideStride = 2;

/// A segment's points in two rows, and the lines and columns that they meet, 16 channels at a time.
/// All that is known when compiled is unrolled: then no more sums are open at a time than registers
/// hold.
template <class T>
struct WideConvolution {
  static constexpr int kLines = (kPointRows - 1) * kWideStride + kSideTaps;
  static constexpr int kColumns = (kSegment - 1) * kWideStride + kSideTaps;
  using Met = MetPoints<kLines, kColumns, T>;
  using Results = WideResults<kSegment, T>;

  template <class Access>
  static void sums(const Met& met, const WideBlock& of, const float* weights,
                   const WidePlaces<T>& results) {
    const WideTaps taps(weights);
    Lanes sums[kPointRows][kSegment] = {};
#pragma GCC unroll 32
    for (int column = 0; column < kColumns; ++column) {
#pragma GCC unroll 8
      for (int line = 0; line < kLines; ++line) {
        const Lanes value = Access::load(met.at[line][column] + of.place(), of.channels);
#pragma GCC unroll 2
        for (int row = 0; row < kPointRows; ++row) {
#pragma GCC unroll 8
          for (int point = 0; point < kSegment; ++point) {
            const int down = line - row * kWideStride, right = column - point * kWideStride;
            if (down < 0 || down >= kSideTaps || right < 0 || right >= kSideTaps) continue;
            sums[row][point] += value * taps.at[down * kSideTaps + right];
          }
        }
      }
    }
#pragma GCC unroll 2
    for (int row = 0; row < kPointRows; ++row) {
#pragma GCC unroll 8
      for (int point = 0; point < kSegment; ++point) {
        results.template put<Access>(row, point, of.place(), sums[row][point], of.channels);
      }
    }
  }
};

template <class T>
void wide_strided_forward(const T* src, const float* weights, T* dst, const DepthwisePlane& plane,
                          RowRange rows) {
  using Convolution = WideConvolution<T>;
  for_wide_channels(plane, [&](int first, int channels) {
    const PointRows<T> sources = {src + first, plane.height, plane.width, plane.src_step};
    typename Convolution::Results results(dst + first, plane.dst_width(), plane.dst_step, channels,
                                          passes_caches(plane));
    for (std::int64_t row = rows.first; row < rows.end; row += kPointRows) {
      const int count = row + 1 < rows.end ? kPointRows : 1;
      for_each_segment(plane.dst_width(), [&](std::int64_t column, int points) {
        const std::int64_t top = row * kWideStride - 1, left = column * kWideStride - 1;
        typename Convolution::Met met;
        met.find(sources, top, left);
        const WidePlaces<T> places = results.begin(row, column, count, points);
        for_each_wide_block(channels, [&](auto access, const WideBlock& of) {
          results.pass(of.block);
          for (int line = 1; line < Convolution::kLines; ++line) {  // the first one was met before
            sources.ask(top + line, left, of.block, kSegment * kWideStride);
          }
          Convolution::template sums<decltype(access)>(
              met, of, weights + (first + of.place()) * DepthwisePlane::kTaps, places);
        });
      });
    }
    results.finish();
  });
  finish_streams();
}

/// Two neighbouring points of a row at a time, each of which gives to four of the source's
/// gradient, together with those beside and below it.
template <class T>
struct WideSpread {
  static constexpr int kPoints = 2;
  using Gradients = MetPoints<2, kSegment + 1, T>;
  using Sources = MetPoints<kSideTaps, kSegment * kWideStride + 1, T>;
  using Results = WideResults<kSegment * kWideStride, T>;

  template <class Access>
  static void gradients(const Gradients& met, const Sources& sources, const WideBlock& of,
                        const float* weights, int points, WidePlaces<T> results, float* totals) {
    const WideTaps taps(weights);
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
        const int at = (first + point) * kWideStride;
        const Lanes &here = g[0][point], &right = g[0][point + 1];
        const Lanes &below = g[1][point], &beyond = g[1][point + 1];
        put(0, at, here * taps.at[4]);
        put(0, at + 1, here * taps.at[5] + right * taps.at[3]);
        put(1, at, here * taps.at[7] + below * taps.at[1]);
        put(1, at + 1,
            (here * taps.at[8] + right * taps.at[6]) + (below * taps.at[2] + beyond * taps.at[0]));
      }
#pragma GCC unroll 5
      for (int column = 0; column <= kPoints * kWideStride; ++column) {
#pragma GCC unroll 3
        for (int line = 0; line < kSideTaps; ++line) {
          const Lanes value = Access::load(
              sources.at[line][first * kWideStride + column] + of.place(), of.channels);
#pragma GCC unroll 2
          for (int point = 0; point < kPoints; ++point) {
            const int tap = column - point * kWideStride;
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

/// What rows of the destination's gradient give to the weights', and the rows
/// of the source's of which theirs are the first.
template <class T>
void wide_strided_gradients(const T* src, const T* diff_dst, const float* weights, T* diff_src,
                            const DepthwisePlane& plane, RowRange rows, double* sums) {
  using Spread = WideSpread<T>;
  const std::int64_t step = plane.src_step, dst_width = plane.dst_width();
  WideTotals totals;
  for_wide_channels(plane, [&](int first, int channels) {
    const PointRows<T> sources = {src + first, plane.height, plane.width, step};
    const PointRows<T> gradients = {diff_dst + first, plane.dst_height(), dst_width, step};
    typename Spread::Results results(diff_src + first, plane.width, step, channels,
                                     passes_caches(plane));
    for (std::int64_t row = rows.first; row < rows.end; ++row) {
      const std::int64_t top = row * kWideStride;
      const int count = top + 1 < plane.height ? 2 : 1;
      totals.clear(channels);
      for_each_segment(dst_width, [&](std::int64_t column, int points) {
        const std::int64_t left = column * kWideStride, there = plane.width - left;
        typename Spread::Gradients met;
        typename Spread::Sources own;
        met.find(gradients, row, column);
        own.find(sources, top - 1, left - 1);
        const WidePlaces<T> places = results.begin(
            top, left, count,
            there < points * kWideStride ? static_cast<int>(there) : points * kWideStride);
        for_each_wide_block(channels, [&](auto access, const WideBlock& of) {
          results.pass(of.block);
          gradients.ask(row + 1, column, of.block, kSegment);
          for (int i = 0; i < 2; ++i) sources.ask(top + i, left, of.block, kSegment * kWideStride);
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

}  // namespace
}  // namespace nn
