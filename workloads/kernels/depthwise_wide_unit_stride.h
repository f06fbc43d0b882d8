// Depthwise kernels with stride 1 on rows of pixels of all channels, processed cache line by cache
// line. Follows the rules of lanes.h.
#pragma once

#include "workloads/kernels/depthwise_lines.h"
#include "workloads/kernels/depthwise_window.h"

namespace nn {
namespace {

/// Rows whose lines are computed together: each row that they read is read three times, not nine.
constexpr int kWideRows = 4;

/// kRows rows of pixels of all channels, `dilation` rows apart, and the rows that they read.
template <int kRows, class T>
struct WideRows {
  PointRows<kRows + kSideTaps - 1, const T> met;
  PointRows<kRows, const T> src;  ///< for gradients only
  PointRows<kRows, T> dst;
  std::int64_t width, channels;
  std::int64_t reach;  ///< elements from one tap to the next
  bool passes;         ///< output is written with streaming stores

  /// `sources`: the convolution's source, for gradients; otherwise any plane.
  WideRows(const T* values, const T* sources, T* to, const DepthwisePlane& plane, std::int64_t row)
      : met(values, plane.width * plane.channels, plane.height, row - plane.dilation,
            plane.dilation),
        src(sources, plane.width * plane.channels, plane.height, row, plane.dilation),
        dst(to, plane.width * plane.channels, plane.height, row, plane.dilation),
        width(plane.width),
        channels(plane.channels),
        reach(plane.dilation * channels),
        passes(passes_caches(plane, to, width * channels)) {}
  /// The elements of a line for which `tap` is inside the row.
  LinePlaces places(std::int64_t line, int tap) const {
    const std::int64_t end = width * channels;
    return places_between<T>((tap == 0 ? reach : 0) - line, (tap == 2 ? end - reach : end) - line);
  }
};

/// Load, or store, a column of taps or of their products.
template <class T>
[[gnu::always_inline]] inline void load_taps(const float* from, int tap,
                                             LineLanes<T> (&taps)[kSideTaps]) {
#pragma GCC unroll 3
  for (int down = 0; down < kSideTaps; ++down) {
#pragma GCC unroll 2
    for (int part = 0; part < kLineParts<T>; ++part) {
      const std::int64_t place = WindowTaps<T>::to_tap(down * kSideTaps + tap, part);
      taps[down][part] = Full::load(from + place, kLanes);
    }
  }
}
template <class T>
[[gnu::always_inline]] inline void store_taps(const LineLanes<T> (&taps)[kSideTaps], int tap,
                                              float* to) {
#pragma GCC unroll 3
  for (int down = 0; down < kSideTaps; ++down) {
#pragma GCC unroll 2
    for (int part = 0; part < kLineParts<T>; ++part) {
      const std::int64_t place = WindowTaps<T>::to_tap(down * kSideTaps + tap, part);
      Full::store(to + place, taps[down][part], kLanes);
    }
  }
}

/// Computes the line at `at` of the rows: sums with the taps. kGradients: these are the source's
/// gradient, and `totals` += products with the source. kIsWhole: all elements read are inside the
/// plane.
template <bool kGradients, bool kIsWhole, int kRows, class T>
[[gnu::always_inline]] inline void find_line(const WideRows<kRows, T>& rows, std::int64_t at,
                                             const float* taps, float* totals) {
  constexpr int kParts = kLineParts<T>;
  LinePlaces places[kSideTaps] = {};
  if constexpr (!kIsWhole) {
    for (int tap = 0; tap < kSideTaps; ++tap) places[tap] = rows.places(at, tap);
  }
  LineLanes<T> sums[kRows] = {}, sources[kRows];
  if constexpr (kGradients) {
#pragma GCC unroll 4
    for (int row = 0; row < kRows; ++row) {
      load_part<kIsWhole>(rows.src.row[row] + at, places[1], sources[row]);
    }
  }
#pragma GCC unroll 3
  for (int tap = 0; tap < kSideTaps; ++tap) {
    LineLanes<T> weights[kSideTaps], products[kSideTaps];
    load_taps<T>(taps, tap, weights);
    if constexpr (kGradients) load_taps<T>(totals, tap, products);
#pragma GCC unroll 6
    for (int line = 0; line < rows.met.kCount; ++line) {
      LineLanes<T> value;
      load_part<kIsWhole>(rows.met.row[line] + at + (tap - 1) * rows.reach,
                          places[tap] & rows.met.there[line], value);
#pragma GCC unroll 4
      for (int row = 0; row < kRows; ++row) {
        const int down = line - row;
        if (down < 0 || down >= kSideTaps) continue;
#pragma GCC unroll 2
        for (int part = 0; part < kParts; ++part) {
          sums[row][part] += value[part] * weights[down][part];
          if constexpr (kGradients) {
            products[down][part] += value[part] * sources[row][part];
          }
        }
      }
    }
    if constexpr (kGradients) store_taps<T>(products, tap, totals);
  }
#pragma GCC unroll 4
  for (int row = 0; row < kRows; ++row) {
    store_part<kIsWhole>(rows.dst.row[row] + at, sums[row], places[1], rows.passes);
  }
}

/// Computes all lines of a window.
template <bool kGradients, int kRows, class T>
void find_lines(const WideRows<kRows, T>& given, const ChannelWindow& window,
                const WindowTaps<T>& taps, WindowTaps<T>* totals) {
  constexpr int kLine = kLineElements<T>;
  const WideRows<kRows, T> rows = given;  // a local copy, for registers
  const auto line_from = [](std::int64_t place) { return (place + kLine - 1) / kLine * kLine; };
  const std::int64_t dilation = rows.reach / rows.channels;
  for (std::int64_t point = 0; point < rows.width; ++point) {
    const std::int64_t first = point * rows.channels + window.first;
    const std::int64_t end = line_from(first + window.count);
    // The last line may extend into the next pixel.
    const bool is_whole =
        rows.met.are_there && point >= dilation && point + 1 + dilation < rows.width;
    for (std::int64_t at = line_from(first); at < end; at += kLine) {
      float* const to = kGradients ? totals->at(at - first) : nullptr;
      if (!is_whole) {
        find_line<kGradients, false>(rows, at, taps.at(at - first), to);
        continue;
      }
      rows.met.ask(at + rows.reach, kSideTaps - 1);
      if constexpr (kGradients) rows.src.ask(at, 0);
      find_line<kGradients, true>(rows, at, taps.at(at - first), to);
    }
  }
}

template <class T>
void wide_same_forward(const T* src, const float* weights, T* dst, const DepthwisePlane& plane,
                       RowRange rows) {
  for_each_window(plane.channels, [&](const ChannelWindow& window) {
    WindowTaps<T> taps(window);
    taps.set(weights, false);
    for_wide_rows<kWideRows>(rows, plane.dilation, [&](std::int64_t row, auto together) {
      constexpr int kRows = decltype(together)::kCount;
      const WideRows<kRows, T> found(src, src, dst, plane, row);
      find_lines<false, kRows, T>(found, window, taps, nullptr);
    });
  });
  finish_streams();
}

/// The source's gradient is a convolution with the taps in reverse order. The rows that it reads
/// are also multiplied by source rows for the weights' gradient.
template <class T>
void wide_same_gradients(const T* src, const T* diff_dst, const float* weights, T* diff_src,
                         const DepthwisePlane& plane, RowRange rows, double* sums) {
  for_each_window(plane.channels, [&](const ChannelWindow& window) {
    WindowTaps<T> taps(window), totals(window);
    taps.set(weights, true);
    for_wide_rows<kWideRows>(rows, plane.dilation, [&](std::int64_t row, auto together) {
      const WideRows<decltype(together)::kCount, T> found(diff_dst, src, diff_src, plane, row);
      find_lines<true>(found, window, taps, &totals);
    });
    totals.add_to(sums, true);
  });
  finish_streams();
}

}  // namespace
}  // namespace nn
