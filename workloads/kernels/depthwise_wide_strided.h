// Depthwise kernels with stride 2 on rows of pixels of all channels, processed pixel by pixel and
// cache line by cache line. A line with channels of two pixels is processed with each. Follows the
// rules of lanes.h.
#pragma once

#include "workloads/kernels/depthwise_lines.h"
#include "workloads/kernels/depthwise_window.h"

namespace nn {
namespace {

constexpr int kWideStride = 2;

/// A line of a pixel's channels.
struct PointLine {
  std::int64_t at;      ///< element in the output rows
  std::int64_t point;   ///< pixel in the output rows
  std::int64_t behind;  ///< elements from the window's first channel of the pixel
  LinePlaces places;    ///< elements that are channels of the window
};

/// Calls use(line, is_whole) for the lines of a pixel's channels in a window; is_whole: all
/// elements are channels of the pixel.
template <class T, class Use>
void for_point_lines(const ChannelWindow& window, std::int64_t point, const Use& use) {
  constexpr std::int64_t kLine = kLineElements<T>;
  const std::int64_t first = point * window.channels + window.first, end = first + window.count;
  for (std::int64_t at = first / kLine * kLine; at < end; at += kLine) {
    const LinePlaces places = places_between<T>(first - at, end - at);
    use(PointLine{at, point, at - first, places}, at >= first && at + kLine <= end);
  }
}

/// kRows rows of the destination, and the source rows that they read.
template <int kRows, class T>
struct StridedRows {
  PointRows<(kRows - 1) * kWideStride + kSideTaps, const T> met;
  T* dst[kRows];
  std::int64_t width, channels;  ///< of the source
  bool passes;
  StridedRows(const T* src, T* to, const DepthwisePlane& plane, std::int64_t row)
      : met(src, plane.width * plane.channels, plane.height, row * kWideStride - 1),
        width(plane.width),
        channels(plane.channels),
        passes(passes_caches(plane, to, plane.dst_width() * channels)) {
    for (int i = 0; i < kRows; ++i) dst[i] = to + (row + i) * plane.dst_width() * channels;
  }
};

/// kIsWhole: all elements read are inside the plane.
template <bool kIsWhole, int kRows, class T>
[[gnu::always_inline]] inline void sum_strided_line(const StridedRows<kRows, T>& rows,
                                                    const PointLine& line,
                                                    const WindowTaps<T>& taps) {
  constexpr int kParts = kLineParts<T>;
  const float* const from = taps.at(line.behind);
  LineLanes<T> sums[kRows] = {};
#pragma GCC unroll 3
  for (int tap = 0; tap < kSideTaps; ++tap) {
    const std::int64_t column = line.point * kWideStride + tap - 1;
    const std::int64_t place = line.at + (column - line.point) * rows.channels;
    const bool is_inside = column >= 0 && column < rows.width;
    const LinePlaces places = is_inside ? line.places : LinePlaces{0};
#pragma GCC unroll 5
    for (int met = 0; met < rows.met.kCount; ++met) {
      LineLanes<T> value;
      load_part<kIsWhole>(rows.met.row[met] + place, places & rows.met.there[met], value);
#pragma GCC unroll 2
      for (int row = 0; row < kRows; ++row) {
        const int down = met - row * kWideStride;
        if (down < 0 || down >= kSideTaps) continue;
#pragma GCC unroll 2
        for (int part = 0; part < kParts; ++part) {
          const std::int64_t weights = WindowTaps<T>::to_tap(down * kSideTaps + tap, part);
          sums[row][part] += value[part] * Full::load(from + weights, kLanes);
        }
      }
    }
  }
#pragma GCC unroll 2
  for (int row = 0; row < kRows; ++row) {
    store_part<kIsWhole>(rows.dst[row] + line.at, sums[row], line.places, rows.passes);
  }
}

template <int kRows, class T>
void sum_strided_rows(const StridedRows<kRows, T> rows, std::int64_t points,
                      const ChannelWindow& window, const WindowTaps<T>& taps) {
  for (std::int64_t point = 0; point < points; ++point) {
    const bool are_inside = rows.met.are_there && point > 0 && point * kWideStride + 1 < rows.width;
    for_point_lines<T>(window, point, [&](const PointLine& line, bool is_whole) {
      if (!is_whole || !are_inside) return sum_strided_line<false>(rows, line, taps);
      const std::int64_t middle = line.at + point * rows.channels;
      rows.met.ask(middle, 1);
      rows.met.ask(middle + rows.channels, 1);
      sum_strided_line<true>(rows, line, taps);
    });
  }
}

template <class T>
void wide_strided_forward(const T* src, const float* weights, T* dst, const DepthwisePlane& plane,
                          RowRange rows) {
  constexpr int kTogether = 2;
  for_each_window(plane.channels, [&](const ChannelWindow& window) {
    WindowTaps<T> taps(window);
    taps.set(weights, false);
    for_wide_rows<kTogether>(rows, 1, [&](std::int64_t row, auto together) {
      const StridedRows<decltype(together)::kCount, T> found(src, dst, plane, row);
      sum_strided_rows(found, plane.dst_width(), window, taps);
    });
  });
  finish_streams();
}

/// kPairs rows of the destination's gradient and the one after them, and two source rows for each
/// of the kPairs.
template <int kPairs, class T>
struct SpreadRows {
  PointRows<kPairs + 1, const T> gradients;
  PointRows<kPairs * kWideStride, const T> src;
  PointRows<kPairs * kWideStride, T> diff_src;
  std::int64_t dst_width, channels;
  bool passes;
  SpreadRows(const T* from, const T* diff_dst, T* to, const DepthwisePlane& plane, std::int64_t row)
      : gradients(diff_dst, plane.dst_width() * plane.channels, plane.dst_height(), row),
        src(from, plane.width * plane.channels, plane.height, row * kWideStride),
        diff_src(to, plane.width * plane.channels, plane.height, row * kWideStride),
        dst_width(plane.dst_width()),
        channels(plane.channels),
        passes(passes_caches(plane, to, plane.width * channels)) {}
};

/// Computes a line of the source's gradient. Odd columns (kIsOdd) receive from the destination's
/// pixels before and after them, even columns from one; odd rows receive from the rows above and
/// below.
template <bool kIsOdd, bool kIsWhole, int kPairs, class T>
[[gnu::always_inline]] inline void spread_line(const SpreadRows<kPairs, T>& rows,
                                               const PointLine& line, const WindowTaps<T>& taps,
                                               WindowTaps<T>& totals) {
  constexpr int kParts = kLineParts<T>, kRows = kPairs * kWideStride;
  const float* const weights = taps.at(line.behind);
  float* const total = totals.at(line.behind);
  LineLanes<T> sums[kRows] = {}, sources[kRows];
#pragma GCC unroll 4
  for (int row = 0; row < kRows; ++row) {
    load_part<kIsWhole>(rows.src.row[row] + line.at, line.places & rows.src.there[row],
                        sources[row]);
  }
#pragma GCC unroll 2
  for (int side = 0; side <= (kIsOdd ? 1 : 0); ++side) {
    const int tap = kIsOdd ? 2 - side * 2 : 1;
    const std::int64_t column = line.point / kWideStride + side;
    const std::int64_t place = line.at + (column - line.point) * rows.channels;
    const LinePlaces places = column < rows.dst_width ? line.places : LinePlaces{0};
    LineLanes<T> values[kPairs + 1];
#pragma GCC unroll 3
    for (int i = 0; i <= kPairs; ++i) {
      load_part<kIsWhole>(rows.gradients.row[i] + place, places & rows.gradients.there[i],
                          values[i]);
    }
#pragma GCC unroll 3
    for (int down = 0; down < kSideTaps; ++down) {
#pragma GCC unroll 2
      for (int part = 0; part < kParts; ++part) {
        const std::int64_t at_tap = WindowTaps<T>::to_tap(down * kSideTaps + tap, part);
        const Lanes weight = Full::load(weights + at_tap, kLanes);
        Lanes product = Full::load(total + at_tap, kLanes);
#pragma GCC unroll 2
        for (int pair = 0; pair < kPairs; ++pair) {
          const int row = pair * kWideStride + (down == 1 ? 0 : 1);
          const Lanes& value = values[pair + (down == 0 ? 1 : 0)][part];
          sums[row][part] += value * weight;
          product += value * sources[row][part];
        }
        Full::store(total + at_tap, product, kLanes);
      }
    }
  }
#pragma GCC unroll 4
  for (int row = 0; row < kRows; ++row) {
    store_part<kIsWhole>(rows.diff_src.row[row] + line.at, sums[row],
                         line.places & rows.diff_src.there[row], rows.passes);
  }
}

template <int kPairs, class T>
void spread_rows(const SpreadRows<kPairs, T> rows, std::int64_t points, const ChannelWindow& window,
                 const WindowTaps<T>& taps, WindowTaps<T>& totals) {
  for (std::int64_t point = 0; point < points; ++point) {
    const bool is_odd = point % kWideStride == 1;
    const bool are_inside = rows.gradients.are_there && rows.src.are_there &&
                            (!is_odd || point / kWideStride + 1 < rows.dst_width);
    for_point_lines<T>(window, point, [&](const PointLine& line, bool is_whole) {
      if (!is_whole || !are_inside) {
        if (is_odd) return spread_line<true, false>(rows, line, taps, totals);
        return spread_line<false, false>(rows, line, taps, totals);
      }
      rows.src.ask(line.at, 0);
      if (is_odd) return spread_line<true, true>(rows, line, taps, totals);
      rows.gradients.ask(line.at - point / kWideStride * rows.channels, 1);
      spread_line<false, true>(rows, line, taps, totals);
    });
  }
}

/// For each row r of `rows`: source rows 2 r and 2 r + 1 of the source's gradient, and their
/// contribution to the weights' gradient.
template <class T>
void wide_strided_gradients(const T* src, const T* diff_dst, const float* weights, T* diff_src,
                            const DepthwisePlane& plane, RowRange rows, double* sums) {
  constexpr int kTogether = 2;
  for_each_window(plane.channels, [&](const ChannelWindow& window) {
    WindowTaps<T> taps(window), totals(window);
    taps.set(weights, false);
    for_wide_rows<kTogether>(rows, 1, [&](std::int64_t row, auto together) {
      const SpreadRows<decltype(together)::kCount, T> spread(src, diff_dst, diff_src, plane, row);
      spread_rows(spread, plane.width, window, taps, totals);
    });
    totals.add_to(sums, false);
  });
  finish_streams();
}

}  // namespace
}  // namespace nn
