// Lines (rows of a plane) that depthwise kernels read, and sums over one column of them. Follows
// the rules of lanes.h.
#pragma once

#include "workloads/kernels/depthwise_kernels.h"
#include "workloads/kernels/lanes.h"

namespace nn {
namespace {

constexpr int kSideTaps = 3;

/// Rows computed together from lines that most of them share. With fewer registers, one row takes
/// them all.
#if defined(__AVX512F__)
constexpr int kRowsTogether = 2;
#else
constexpr int kRowsTogether = 1;
#endif

/// The lines that a row reads, with their taps [line][tap], and the further lines that the rows
/// computed with it read.
template <class T>
struct Lines {
  const T* first[kSideTaps + kRowsTogether - 1];
  Lanes taps[kSideTaps][kSideTaps];
  int which[kSideTaps];  ///< vertical tap, 0 to 2, of each line of the first row
  int count = 0;         ///< lines of the first row
};

/// Weights [line][tap] of a plane's channels; `turned`: both in reverse order.
struct Taps {
  const float* weights;
  bool turned = false;
};

inline Lanes load_tap(const Taps& taps, int tap, const DepthwisePlane& plane) {
  constexpr int kLast = DepthwisePlane::kTaps - 1;
  const int step = plane.weights_step;
  const float* const from = taps.weights + (taps.turned ? kLast - tap : tap) * step;
  return step == kLanes ? Full::load(from, kLanes) : Partial::load(from, step);
}

/// `line`: its vertical tap, 0 to 2.
template <class T>
void add_line(Lines<T>& lines, int line, const T* row, const Taps& taps,
              const DepthwisePlane& plane) {
  lines.first[lines.count] = row;
  lines.which[lines.count] = line;
  for (int tap = 0; tap < kSideTaps; ++tap) {
    lines.taps[lines.count][tap] = load_tap(taps, line * kSideTaps + tap, plane);
  }
  ++lines.count;
}

/// The lines of `values`, which is as wide as the source, that `row` reads, and those that `rows`
/// rows together read. REQUIRES: all lines are inside the plane if `rows` is above 1.
template <class T>
Lines<T> met_lines(const T* values, std::int64_t value_step, const Taps& taps,
                   const DepthwisePlane& plane, std::int64_t row, int rows = 1) {
  const std::int64_t width = plane.width * value_step;
  Lines<T> lines;
  for (int line = 0; line < kSideTaps; ++line) {
    const std::int64_t y = row * plane.stride + (line - 1) * plane.dilation;
    if (y >= 0 && y < plane.height) add_line(lines, line, values + y * width, taps, plane);
  }
  for (int more = 1; more < rows; ++more) {
    lines.first[kSideTaps + more - 1] = values + (row + more + 1) * width;
  }
  return lines;
}

/// Lines of kRows rows, each of which reads kMet lines, beginning with the second line of the row
/// before. The counts are known at compile time. Functions make a local copy: if their stores might
/// overwrite the taps, these would not stay in registers.
template <int kRows, int kMet, class T>
struct KnownLines {
  static constexpr int kCount = kMet + kRows - 1;
  const T* first[kCount];
  Lanes taps[kMet][kSideTaps];
  explicit KnownLines(const Lines<T>& lines) {
#pragma GCC unroll 4
    for (int line = 0; line < kCount; ++line) first[line] = lines.first[line];
#pragma GCC unroll 3
    for (int line = 0; line < kMet; ++line) {
#pragma GCC unroll 3
      for (int tap = 0; tap < kSideTaps; ++tap) taps[line][tap] = lines.taps[line][tap];
    }
  }
};

/// One column of the lines. All lines but the last kFresh were read with the rows before.
template <class Access, int kRows, int kMet, class T, int kFresh = kRows>
struct Columns {
  using Known = KnownLines<kRows, kMet, T>;
  Lanes values[Known::kCount];
  Columns(const Known& lines, std::int64_t at, int channels, std::int64_t ahead) {
#pragma GCC unroll 4
    for (int line = 0; line < Known::kCount; ++line) {
      values[line] = line + kFresh < Known::kCount
                         ? Access::load(lines.first[line] + at, channels)
                         : load_ahead<Access>(lines.first[line] + at, channels, ahead);
    }
  }
  Lanes sum(const Known& lines, int row, int tap, Lanes sum) const {
#pragma GCC unroll 3
    for (int line = 0; line < kMet; ++line) sum += values[row + line] * lines.taps[line][tap];
    return sum;
  }
};

/// Prefetch distance in elements: as in load_on_way() for contiguous pixels, a few pixels for
/// others.
template <class T>
std::int64_t points_ahead(std::int64_t step) {
  constexpr std::int64_t kFewPoints = 12;
  return step <= kLanes ? kAheadBytes / static_cast<std::int64_t>(sizeof(T)) : kFewPoints * step;
}

/// As Access::store, of a pixel. Prefetches a later pixel if pixels are not contiguous.
template <class Access, class T>
void store_point(T* to, const Lanes& value, int channels, std::int64_t step) {
  constexpr int kToWrite = 1;
  if (step > kLanes) __builtin_prefetch(to + points_ahead<T>(step), kToWrite);
  Access::store(to, value, channels);
}

/// Calls run(Count<n>()), where n is the number of lines that each of kRows rows reads. Several
/// rows are computed together only if each reads all three.
template <int kRows, class Run>
void with_lines(int count, const Run& run) {
  if constexpr (kRows == 1) {
    if (count == 1) return run(Count<1>());
    if (count == 2) return run(Count<2>());
  }
  run(Count<kSideTaps>());
}

/// Adds the products of a line, by tap, to totals [9][16].
inline void add_products(const Lanes (&sums)[kSideTaps], int line, double* totals) {
  for (int tap = 0; tap < kSideTaps; ++tap) {
    double* const to = totals + (line * kSideTaps + tap) * kLanes;
    for (int lane = 0; lane < kLanes; ++lane) to[lane] += static_cast<double>(sums[tap][lane]);
  }
}

}  // namespace
}  // namespace nn
