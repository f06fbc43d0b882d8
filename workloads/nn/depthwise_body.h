// The depthwise kernels' source. As kernels_body.h, whose part it is: compiled once per instruction
// set, internal linkage, nothing of the standard library.
// Hides how columns are read once for all points that they reach, where no stride skips any.
#pragma once

#include "workloads/nn/depthwise_kernels.h"
#include "workloads/nn/kernels_lanes.h"

namespace nn {
namespace {

constexpr int kSideTaps = 3;

/// Rows that are found together, from lines that most of them share. Where registers hold fewer
/// values, one takes them all.
#if defined(__AVX512F__)
constexpr int kRowsTogether = 2;
#else
constexpr int kRowsTogether = 1;
#endif

/// The source's rows that a row of the destination meets, with their taps [line][tap], and those
/// that the rows found with it meet besides.
template <class T>
struct Lines {
  const T* first[kSideTaps + kRowsTogether - 1];
  Lanes taps[kSideTaps][kSideTaps];
  int count = 0;  ///< of the first row
};

inline Lanes load_tap(const float* weights, int tap, const DepthwisePlane& plane) {
  const int step = plane.weights_step;
  if (step == kLanes) return Full::load(weights + tap * kLanes, kLanes);
  return Partial::load(weights + tap * step, step);
}

/// The line's taps are `from` and those `step` further each.
template <class T>
void add_line(Lines<T>& lines, const T* row, const float* weights, int from, int step,
              const DepthwisePlane& plane) {
  lines.first[lines.count] = row;
  for (int tap = 0; tap < kSideTaps; ++tap) {
    lines.taps[lines.count][tap] = load_tap(weights, from + tap * step, plane);
  }
  ++lines.count;
}

/// Of kRows rows, each of which meets kMet lines, the first of which is the second of the row
/// before. These numbers are known when compiled. A function's own: where what it stores might be
/// the taps, these would not stay in registers.
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

/// What a column of the lines gives to a point that meets it with `tap`. The lines before the last
/// kFresh ones have been read with rows before.
template <class Access, int kRows, int kMet, class T, int kFresh = kRows>
struct Columns {
  using Known = KnownLines<kRows, kMet, T>;
  Lanes values[Known::kCount];
  Columns(const Known& lines, std::int64_t at, int channels) {
#pragma GCC unroll 4
    for (int line = 0; line < Known::kCount; ++line) {
      values[line] = line + kFresh < Known::kCount
                         ? Access::load(lines.first[line] + at, channels)
                         : load_on_way<Access>(lines.first[line] + at, channels);
    }
  }
  Lanes sum(const Known& lines, int row, int tap, Lanes sum) const {
#pragma GCC unroll 3
    for (int line = 0; line < kMet; ++line) sum += values[row + line] * lines.taps[line][tap];
    return sum;
  }
};

/// A row's sums that have not met all their columns yet.
struct OpenSums {
  Lanes before = zero(), here = zero();
  /// Takes in the next column: returns what the one before it now amounts to.
  template <class Column, class Known>
  Lanes meet(const Column& column, const Known& lines, int row) {
    const Lanes ended = column.sum(lines, row, 2, before);
    before = column.sum(lines, row, 1, here);
    here = column.sum(lines, row, 0, zero());
    return ended;
  }
};

/// Points of neighbouring rows, each from the columns `dilation` before it, at it and behind it. A
/// column is read once: while it ends the sum of the point before, it goes on with its own and
/// begins the next one's.
template <class Access, int kRows, int kMet, class T>
void same_rows(const Lines<T>& given, T* dst, const DepthwisePlane& plane) {
  const KnownLines<kRows, kMet, T> lines(given);
  const std::int64_t apart = plane.dilation, width = plane.width;
  const std::int64_t src_step = plane.src_step, dst_step = plane.dst_step;
  const std::int64_t next = width * dst_step;
  const int channels = plane.channels;
  for (std::int64_t begin = 0; begin < apart && begin < width; ++begin) {
    OpenSums sums[kRows];
    std::int64_t x = begin;
    for (; x < width; x += apart) {
      const Columns<Access, kRows, kMet, T> column(lines, x * src_step, channels);
#pragma GCC unroll 2
      for (int row = 0; row < kRows; ++row) {
        const Lanes ended = sums[row].meet(column, lines, row);
        if (x < apart) continue;
        Access::store(dst + row * next + (x - apart) * dst_step, ended, channels);
      }
    }
    for (int row = 0; row < kRows; ++row) {
      Access::store(dst + row * next + (x - apart) * dst_step, sums[row].before, channels);
    }
  }
}

/// With a stride of two, the column behind a point is the one before the next.
template <class Access, int kLines, class T>
void strided_row(const Lines<T>& given, T* dst, const DepthwisePlane& plane) {
  using Column = Columns<Access, 1, kLines, T, 2>;
  const KnownLines<1, kLines, T> lines(given);
  const auto column = [&](std::int64_t x) {
    return Column(lines, x * plane.src_step, plane.channels);
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
    Access::store(dst + point * plane.dst_step, sum, plane.channels);
  }
}

/// Calls run(number of lines, known when compiled).
template <class Run>
void with_lines(int count, const Run& run) {
  if (count == 1) return run(Count<1>());
  if (count == 2) return run(Count<2>());
  run(Count<3>());
}

/// Calls run(row, rows found together, known when compiled) for all of `rows`: several where lines
/// are neighbours and so many rows' lines all lie in the plane. Dilated rows are read and written
/// in more than one go, for which memory is too slow with several.
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

/// The lines of `values` that the row meets, which the row's own is the middle one of, and those
/// that so many rows meet together. `turned`: with the taps in opposite order. met[i]: which of
/// three the i-th line is.
template <class T>
Lines<T> lines_around(const T* values, std::int64_t value_step, const float* weights,
                      const DepthwisePlane& plane, std::int64_t row, int rows, bool turned,
                      int* met) {
  constexpr int kLast = DepthwisePlane::kTaps - 1;
  const std::int64_t width = plane.width * value_step, apart = plane.dilation;
  Lines<T> lines;
  for (int line = 0; line < kSideTaps; ++line) {
    const std::int64_t y = row + (line - 1) * apart;
    if (y < 0 || y >= plane.height) continue;
    met[lines.count] = line;
    const int tap = line * kSideTaps;
    add_line(lines, values + y * width, weights, turned ? kLast - tap : tap, turned ? -1 : 1,
             plane);
  }
  for (int more = 1; more < rows; ++more) {
    lines.first[kSideTaps + more - 1] = values + (row + more + 1) * width;
  }
  return lines;
}

template <class Access, class T>
void strided_rows(const T* src, const float* weights, T* dst, const DepthwisePlane& plane,
                  RowRange rows) {
  for (std::int64_t row = rows.first; row < rows.end; ++row) {
    Lines<T> lines;
    for (int line = 0; line < kSideTaps; ++line) {
      const std::int64_t y = row * plane.stride + line - 1;
      if (y < 0 || y >= plane.height) continue;
      add_line(lines, src + y * plane.width * plane.src_step, weights, line * kSideTaps, 1, plane);
    }
    T* const to = dst + row * plane.dst_width() * plane.dst_step;
    with_lines(lines.count,
               [&](auto known) { strided_row<Access, decltype(known)::kCount>(lines, to, plane); });
  }
}

template <class Access, class T>
void depthwise_rows(const T* src, const float* weights, T* dst, const DepthwisePlane& plane,
                    RowRange rows) {
  if (plane.stride > 1) return strided_rows<Access>(src, weights, dst, plane, rows);
  for_same_rows(rows, plane, [&](std::int64_t row, auto together) {
    constexpr int kRows = decltype(together)::kCount;
    int met[kSideTaps];
    const Lines<T> lines =
        lines_around(src, plane.src_step, weights, plane, row, kRows, false, met);
    T* const to = dst + row * plane.width * plane.dst_step;
    if constexpr (kRows > 1) {
      same_rows<Access, kRows, kSideTaps>(lines, to, plane);
    } else {
      with_lines(lines.count, [&](auto known) {
        same_rows<Access, 1, decltype(known)::kCount>(lines, to, plane);
      });
    }
  });
}

/// With a stride, every point gives to the columns before it, at it and behind it, of which those
/// between two points that are two apart get something of both.
template <class Access, int kLines, class T>
void spread_row(const Lines<T>& given, T* diff_src, const DepthwisePlane& plane) {
  const KnownLines<1, kLines, T> lines(given);
  const auto put = [&](std::int64_t x, const Lanes& value) {
    if (x < plane.width) Access::store(diff_src + x * plane.src_step, value, plane.channels);
  };
  const std::int64_t points = plane.dst_width(), stride = plane.stride;
  Lanes behind = zero();
  for (std::int64_t point = 0; point < points; ++point) {
    const std::int64_t at = point * stride;
    const Columns<Access, 1, kLines, T> column(lines, point * plane.dst_step, plane.channels);
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
    add_line(lines, diff_dst + y / plane.stride * plane.dst_width() * plane.dst_step, weights,
             line * kSideTaps, 1, plane);
  }
  T* const to = diff_src + row * plane.width * plane.src_step;
  if (lines.count == 0) {
    for (std::int64_t x = 0; x < plane.width; ++x) {
      Access::store(to + x * plane.src_step, zero(), plane.channels);
    }
    return;
  }
  with_lines(lines.count,
             [&](auto known) { spread_row<Access, decltype(known)::kCount>(lines, to, plane); });
}

/// A line's products so far, by tap, go to its part of totals [9][16].
inline void add_products(const Lanes (&sums)[kSideTaps], int line, double* totals) {
  for (int tap = 0; tap < kSideTaps; ++tap) {
    double* const to = totals + (line * kSideTaps + tap) * kLanes;
    for (int lane = 0; lane < kLanes; ++lane) to[lane] += static_cast<double>(sums[tap][lane]);
  }
}

/// Lines of the source that a row of the destination meets, and its gradients' products with them
/// so far [line][tap]. A function's own, as KnownLines.
template <class Access, int kLines, class T>
struct TapSums {
  const T* first[kLines];
  Lanes sums[kLines][kSideTaps];
  void add(int tap, const Lanes& gradient, const Lanes (&column)[kLines]) {
#pragma GCC unroll 3
    for (int line = 0; line < kLines; ++line) sums[line][tap] += gradient * column[line];
  }
  /// The column at `at`; lines but the first are read for the first time.
  void load(std::int64_t at, int channels, Lanes (&column)[kLines]) const {
#pragma GCC unroll 3
    for (int line = 0; line < kLines; ++line) {
      column[line] = line + 2 < kLines ? Access::load(first[line] + at, channels)
                                       : load_on_way<Access>(first[line] + at, channels);
    }
  }
};

/// With a stride of two, the column behind a point is the one before the next.
template <class Access, int kLines, class T>
void add_strided_row(TapSums<Access, kLines, T>& given, const T* gradients,
                     const DepthwisePlane& plane) {
  TapSums<Access, kLines, T> sums = given;
  const std::int64_t points = plane.dst_width();
  Lanes behind[kLines] = {}, here[kLines];
  for (std::int64_t point = 0; point < points; ++point) {
    const Lanes gradient = load_on_way<Access>(gradients + point * plane.dst_step, plane.channels);
    const std::int64_t at = point * plane.stride;
    if (at > 0) {
      if (plane.stride > 2) sums.load((at - 1) * plane.src_step, plane.channels, behind);
      sums.add(0, gradient, behind);
    }
    sums.load(at * plane.src_step, plane.channels, here);
    sums.add(1, gradient, here);
    if (at + 1 == plane.width) continue;
    sums.load((at + 1) * plane.src_step, plane.channels, behind);
    sums.add(2, gradient, behind);
  }
  given = sums;
}

/// A row's sums are of floats; they are added up in doubles.
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
  with_lines(count, [&](auto known) {
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

/// The source's columns that one of the gradients meets, of a row.
struct MetColumns {
  Lanes at[kSideTaps];
};

/// Without a stride, the source's gradient is a convolution with the taps turned round; the
/// columns of the destination's that it reads are those that rows of the source are multiplied
/// with for the weights'. diff_src may be null. products [line][tap].
template <class Access, int kRows, int kMet, class T>
void same_gradients_rows(const Lines<T>& given, const T* src, T* diff_src,
                         const DepthwisePlane& plane, Lanes (&products)[kSideTaps][kSideTaps]) {
  const KnownLines<kRows, kMet, T> lines(given);
  const std::int64_t apart = plane.dilation, width = plane.width;
  const std::int64_t src_step = plane.src_step, dst_step = plane.dst_step;
  const std::int64_t next = width * src_step;
  const int channels = plane.channels;
  const auto source = [&](int row, std::int64_t x) {
    return x < width ? load_on_way<Access>(src + row * next + x * src_step, channels) : zero();
  };
  const auto put = [&](int row, std::int64_t x, const Lanes& value) {
    if (diff_src == nullptr) return;
    Access::store(diff_src + row * next + x * src_step, value, channels);
  };
  Lanes sums[kMet][kSideTaps] = {};
  for (std::int64_t begin = 0; begin < apart && begin < width; ++begin) {
    OpenSums open[kRows];
    MetColumns met[kRows];
    for (int row = 0; row < kRows; ++row) met[row] = {{zero(), zero(), source(row, begin)}};
    std::int64_t x = begin;
    for (; x < width; x += apart) {
      const Columns<Access, kRows, kMet, T> column(lines, x * dst_step, channels);
#pragma GCC unroll 2
      for (int row = 0; row < kRows; ++row) {
        met[row] = {{met[row].at[1], met[row].at[2], source(row, x + apart)}};
#pragma GCC unroll 3
        for (int line = 0; line < kMet; ++line) {
#pragma GCC unroll 3
          for (int tap = 0; tap < kSideTaps; ++tap) {
            sums[line][tap] += column.values[row + line] * met[row].at[tap];
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
    int met[kSideTaps];
    const Lines<T> lines =
        lines_around(diff_dst, plane.dst_step, weights, plane, row, kRows, true, met);
    const std::int64_t at = row * plane.width * plane.src_step;
    T* const to = diff_src == nullptr ? nullptr : diff_src + at;
    Lanes products[kSideTaps][kSideTaps];
    if constexpr (kRows > 1) {
      same_gradients_rows<Access, kRows, kSideTaps>(lines, src + at, to, plane, products);
    } else {
      with_lines(lines.count, [&](auto known) {
        same_gradients_rows<Access, 1, decltype(known)::kCount>(lines, src + at, to, plane,
                                                                products);
      });
    }
    for (int line = 0; line < lines.count; ++line) {
      add_products(products[line], kSideTaps - 1 - met[line], totals);
    }
  });
}

/// Calls run(access) with what the row that begins at `to` is written with. Points of dilated rows
/// are not written one after the other.
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
    depthwise_rows<decltype(access)>(src, weights, dst, plane, rows);
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
constexpr DepthwiseKernels<T> kDepthwise = {depthwise_forward<T>, depthwise_gradients<T>,
                                            depthwise_source_gradient<T>,
                                            depthwise_weights_gradient<T>};

}  // namespace
}  // namespace nn
