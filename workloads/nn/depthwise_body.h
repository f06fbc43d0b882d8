// The depthwise kernels' source. As kernels_body.h, whose part it is: compiled once per instruction
// set, internal linkage, nothing of the standard library.
// Hides how columns are read once for all points that they reach, where no stride skips any.
#pragma once

#include "workloads/nn/depthwise_kernels.h"
#include "workloads/nn/kernels_lanes.h"

namespace nn {
namespace {

constexpr int kSideTaps = 3;

/// The source's rows that a row of the destination meets, with their taps [line][tap].
template <class T>
struct Lines {
  const T* first[kSideTaps];
  Lanes taps[kSideTaps][kSideTaps];
  int count = 0;
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

/// Lines whose number is known when compiled. A function's own: where what it stores might be the
/// taps, these would not stay in registers.
template <int kLines, class T>
struct KnownLines {
  const T* first[kLines];
  Lanes taps[kLines][kSideTaps];
  explicit KnownLines(const Lines<T>& lines) {
#pragma GCC unroll 3
    for (int line = 0; line < kLines; ++line) {
      first[line] = lines.first[line];
#pragma GCC unroll 3
      for (int tap = 0; tap < kSideTaps; ++tap) taps[line][tap] = lines.taps[line][tap];
    }
  }
};

/// What a column of the lines gives to a point that meets it with `tap`. The lines before the last
/// kFresh ones have been read with rows before.
template <class Access, int kLines, class T, int kFresh = 1>
struct Columns {
  Lanes values[kLines];
  Columns(const KnownLines<kLines, T>& lines, std::int64_t at, int channels) {
#pragma GCC unroll 3
    for (int line = 0; line < kLines; ++line) {
      values[line] = line + kFresh < kLines ? Access::load(lines.first[line] + at, channels)
                                            : load_on_way<Access>(lines.first[line] + at, channels);
    }
  }
  Lanes sum(const KnownLines<kLines, T>& lines, int tap, Lanes sum) const {
#pragma GCC unroll 3
    for (int line = 0; line < kLines; ++line) sum += values[line] * lines.taps[line][tap];
    return sum;
  }
};

/// Points of a row, each from the columns `dilation` before it, at it and behind it. A column is
/// read once: while it ends the sum of the point before, it goes on with its own and begins the
/// next one's.
template <class Access, int kLines, class T>
void same_row(const Lines<T>& given, T* dst, const DepthwisePlane& plane, std::int64_t src_step,
              std::int64_t dst_step) {
  const KnownLines<kLines, T> lines(given);
  const std::int64_t apart = plane.dilation;
  for (std::int64_t begin = 0; begin < apart && begin < plane.width; ++begin) {
    Lanes before = zero(), here = zero();
    std::int64_t x = begin;
    for (; x < plane.width; x += apart) {
      const Columns<Access, kLines, T> column(lines, x * src_step, plane.channels);
      const Lanes behind = column.sum(lines, 0, zero());
      here = column.sum(lines, 1, here);
      if (x >= apart) {
        Access::store(dst + (x - apart) * dst_step, column.sum(lines, 2, before), plane.channels);
      }
      before = here;
      here = behind;
    }
    Access::store(dst + (x - apart) * dst_step, before, plane.channels);
  }
}

/// With a stride of two, the column behind a point is the one before the next.
template <class Access, int kLines, class T>
void strided_row(const Lines<T>& given, T* dst, const DepthwisePlane& plane) {
  using Column = Columns<Access, kLines, T, 2>;
  const KnownLines<kLines, T> lines(given);
  const auto column = [&](std::int64_t x) {
    return Column(lines, x * plane.src_step, plane.channels);
  };
  const std::int64_t points = plane.dst_width();
  Column behind = column(0);
  for (std::int64_t point = 0; point < points; ++point) {
    const std::int64_t at = point * plane.stride;
    Lanes sum = zero();
    if (at > 0) sum = (plane.stride == 2 ? behind : column(at - 1)).sum(lines, 0, sum);
    sum = column(at).sum(lines, 1, sum);
    if (at + 1 < plane.width) {
      behind = column(at + 1);
      sum = behind.sum(lines, 2, sum);
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

template <class Access, class T>
void depthwise_row(const T* src, const float* weights, T* dst, const DepthwisePlane& plane,
                   std::int64_t row) {
  Lines<T> lines;
  for (int line = 0; line < kSideTaps; ++line) {
    const std::int64_t y = row * plane.stride + (line - 1) * plane.dilation;
    if (y < 0 || y >= plane.height) continue;
    add_line(lines, src + y * plane.width * plane.src_step, weights, line * kSideTaps, 1, plane);
  }
  T* const to = dst + row * plane.dst_width() * plane.dst_step;
  with_lines(lines.count, [&](auto known) {
    constexpr int kLines = decltype(known)::kCount;
    if (plane.stride > 1) return strided_row<Access, kLines>(lines, to, plane);
    same_row<Access, kLines>(lines, to, plane, plane.src_step, plane.dst_step);
  });
}

/// With a stride, every point gives to the columns before it, at it and behind it, of which those
/// between two points that are two apart get something of both.
template <class Access, int kLines, class T>
void spread_row(const Lines<T>& given, T* diff_src, const DepthwisePlane& plane) {
  const KnownLines<kLines, T> lines(given);
  const auto put = [&](std::int64_t x, const Lanes& value) {
    if (x < plane.width) Access::store(diff_src + x * plane.src_step, value, plane.channels);
  };
  const std::int64_t points = plane.dst_width(), stride = plane.stride;
  Lanes behind = zero();
  for (std::int64_t point = 0; point < points; ++point) {
    const std::int64_t at = point * stride;
    const Columns<Access, kLines, T> column(lines, point * plane.dst_step, plane.channels);
    if (point > 0) {
      if (stride > 2) put(at - stride + 1, behind);
      for (std::int64_t x = at - stride + 2; x < at - 1; ++x) put(x, zero());
      put(at - 1, column.sum(lines, 0, stride > 2 ? zero() : behind));
    }
    put(at, column.sum(lines, 1, zero()));
    behind = column.sum(lines, 2, zero());
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

/// Without a stride, the source's gradient is a convolution with the taps turned round; the
/// columns of the destination's that it reads are those that a row of the source is multiplied
/// with for the weights'. diff_src may be null.
template <class Access, int kLines, class T>
void same_gradients_row(const Lines<T>& given, const T* src, T* diff_src,
                        const DepthwisePlane& plane, Lanes (&products)[kSideTaps][kSideTaps]) {
  const KnownLines<kLines, T> lines(given);
  const std::int64_t apart = plane.dilation;
  const auto source = [&](std::int64_t x) {
    return x < plane.width ? load_on_way<Access>(src + x * plane.src_step, plane.channels) : zero();
  };
  Lanes sums[kLines][kSideTaps];
  for (auto& line : sums) {
    for (Lanes& sum : line) sum = zero();
  }
  for (std::int64_t begin = 0; begin < apart && begin < plane.width; ++begin) {
    Lanes met[kSideTaps] = {zero(), zero(), source(begin)};
    Lanes before = zero(), here = zero();
    std::int64_t x = begin;
    for (; x < plane.width; x += apart) {
      const Columns<Access, kLines, T> column(lines, x * plane.dst_step, plane.channels);
      met[0] = met[1];
      met[1] = met[2];
      met[2] = source(x + apart);
#pragma GCC unroll 3
      for (int line = 0; line < kLines; ++line) {
#pragma GCC unroll 3
        for (int tap = 0; tap < kSideTaps; ++tap) sums[line][tap] += column.values[line] * met[tap];
      }
      const Lanes behind = column.sum(lines, 0, zero());
      here = column.sum(lines, 1, here);
      if (x >= apart && diff_src != nullptr) {
        Access::store(diff_src + (x - apart) * plane.src_step, column.sum(lines, 2, before),
                      plane.channels);
      }
      before = here;
      here = behind;
    }
    if (diff_src == nullptr) continue;
    Access::store(diff_src + (x - apart) * plane.src_step, before, plane.channels);
  }
  for (int line = 0; line < kLines; ++line) {
    for (int tap = 0; tap < kSideTaps; ++tap) products[line][tap] = sums[line][tap];
  }
}

template <class Access, class T>
void same_gradients(const T* src, const T* diff_dst, const float* weights, T* diff_src,
                    const DepthwisePlane& plane, std::int64_t row, double* totals) {
  Lines<T> lines;
  int weighed[kSideTaps];
  for (int line = 0; line < kSideTaps; ++line) {
    const std::int64_t y = row + (line - 1) * plane.dilation;
    if (y < 0 || y >= plane.height) continue;
    weighed[lines.count] = kSideTaps - 1 - line;
    const int last = (kSideTaps - 1 - line) * kSideTaps + kSideTaps - 1;
    add_line(lines, diff_dst + y * plane.width * plane.dst_step, weights, last, -1, plane);
  }
  const std::int64_t at = row * plane.width * plane.src_step;
  T* const to = diff_src == nullptr ? nullptr : diff_src + at;
  with_lines(lines.count, [&](auto known) {
    constexpr int kLines = decltype(known)::kCount;
    Lanes products[kSideTaps][kSideTaps];
    same_gradients_row<Access, kLines>(lines, src + at, to, plane, products);
    for (int line = 0; line < kLines; ++line) add_products(products[line], weighed[line], totals);
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
                       std::int64_t row) {
  with_stores(plane, dst, plane.dst_step,
              [&](auto access) { depthwise_row<decltype(access)>(src, weights, dst, plane, row); });
}

template <class T>
void depthwise_gradients(const T* src, const T* diff_dst, const float* weights, T* diff_src,
                         const DepthwisePlane& plane, std::int64_t row, double* sums) {
  with_stores(plane, diff_src, plane.src_step, [&](auto access) {
    same_gradients<decltype(access)>(src, diff_dst, weights, diff_src, plane, row, sums);
  });
}

template <class T>
void depthwise_source_gradient(const T* diff_dst, const float* weights, T* diff_src,
                               const DepthwisePlane& plane, std::int64_t row) {
  with_stores(plane, diff_src, plane.src_step, [&](auto access) {
    strided_gradient_row<decltype(access)>(diff_dst, weights, diff_src, plane, row);
  });
}

template <class T>
void depthwise_weights_gradient(const T* src, const T* diff_dst, const DepthwisePlane& plane,
                                std::int64_t row, double* sums) {
  if (plane.channels == kLanes) {
    return strided_weights_row<Full>(src, diff_dst, plane, row, sums);
  }
  strided_weights_row<Partial>(src, diff_dst, plane, row, sums);
}

template <class T>
constexpr DepthwiseKernels<T> kDepthwise = {depthwise_forward<T>, depthwise_gradients<T>,
                                            depthwise_source_gradient<T>,
                                            depthwise_weights_gradient<T>};

}  // namespace
}  // namespace nn
