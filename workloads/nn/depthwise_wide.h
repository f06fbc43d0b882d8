// Depthwise kernels on points of all channels: where channels are last, and a plane's points of 16
// channels would be parts of lines from all over the memory. As kernels_body.h, whose part it is:
// compiled once per instruction set, internal linkage, nothing of the standard library.
// Hides edges, and the order in which points, channels and taps are met.
#pragma once

#include "workloads/nn/depthwise_lines.h"

namespace nn {
namespace {

/// Neighbouring points of a row that are gone over for 16 channels before the next ones: their
/// lines stay in the first cache until the channels beside them have met them.
constexpr int kSegment = 8;
/// Channels of which that is done before the same points' other ones.
constexpr int kWideChannels = 1024;
/// Rows that are found together.
constexpr int kWideRows = 2;

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

template <class T>
alignas(64) constexpr T kZeros[kWideChannels] = {};

/// Rows of points of all channels, of which some are gone over, and zeros around them.
template <class T>
struct WideRows {
  const T* first;  ///< of the channels that are gone over
  std::int64_t height, width, step;
  const T* at(std::int64_t row, std::int64_t column) const {
    const bool is_inside = row >= 0 && row < height && column >= 0 && column < width;
    return is_inside ? first + (row * width + column) * step : kZeros<T>;
  }
  /// Asks for a share of the points of the segment after the next one, behind `column`: so much as
  /// `points` points of 16 channels are, and as every block of channels asks for.
  void ask(std::int64_t row, std::int64_t column, std::int64_t block, int points) const {
    if (row < 0 || row >= height) return;
    constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
    constexpr int kToRead = 0, kSecondCache = 2;
    const std::int64_t share = points * kLanes;
    const T* const from = first + (row * width + column + 2 * points) * step + block * share;
    for (std::int64_t i = 0; i < share; i += kLine) {
      __builtin_prefetch(from + i, kToRead, kSecondCache);
    }
  }
};

/// Pointers to a segment's points [row][point] and to those that they meet [line][column].
template <int kLines, int kColumns, class T>
struct MetPoints {
  const T* at[kLines][kColumns];
  /// Lines `apart` rows from each other, columns side by side.
  void find(const WideRows<T>& rows, std::int64_t row, std::int64_t apart, std::int64_t column) {
    for (int line = 0; line < kLines; ++line) {
      for (int i = 0; i < kColumns; ++i) at[line][i] = rows.at(row + line * apart, column + i);
    }
  }
};

/// So many numbers to a place that nobody reads soon.
template <class T>
void copy_past_caches(const T* from, T* to, std::int64_t count) {
  std::int64_t done = 0;
#if defined(__AVX512F__)
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
  if (reinterpret_cast<std::uintptr_t>(to) % 64 == 0) {
    for (; done + kLine <= count; done += kLine) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to + done), _mm512_loadu_si512(from + done));
    }
  }
#endif
  __builtin_memcpy(to + done, from + done, static_cast<std::size_t>(count - done) * sizeof(T));
}

/// Where points of two rows go, of those that are there.
template <class T>
struct WidePlaces {
  T* to[kWideRows];
  std::int64_t step;
  int rows, points;
  template <class Access>
  void put(int row, int point, std::int64_t channel, const Lanes& value, int channels) const {
    if (row >= rows || point >= points) return;
    Access::store(to[row] + point * step + channel, value, channels);
  }
};

/// Where the points of two rows' segment are written: to their places, or first aside, from where
/// whole lines pass by the caches while the next segment is found.
template <int kMostPoints, class T>
class WideResults {
 public:
  WideResults(T* first, std::int64_t width, std::int64_t step, int channels, bool passes)
      : first_(first), width_(width), step_(step), channels_(channels), passes_(passes) {}
  /// For `points` points of `rows` rows that are `apart` from each other.
  WidePlaces<T> begin(std::int64_t row, std::int64_t apart, std::int64_t column, int rows,
                      int points) {
    for (int i = 0; i < kWideRows; ++i) {
      T* const place = first_ + ((row + i * apart) * width_ + column) * step_;
      if (!passes_) {
        found_.to[i] = place;
        continue;
      }
      leaving_[i] = {found_.to[i], places_[i], i < found_.rows ? found_.points * channels_ : 0};
      places_[i] = place;
      found_.to[i] = aside_[turn_] + std::int64_t{i} * kMostPoints * channels_;
    }
    turn_ = 1 - turn_;
    found_.step = passes_ ? channels_ : step_;
    found_.rows = rows;
    found_.points = points;
    return found_;
  }
  /// Once for every block of channels: a share of the segment before leaves.
  void pass(std::int64_t block) const {
    if (!passes_) return;
    constexpr std::int64_t kShare = kMostPoints * kLanes;
    for (const Leaving& row : leaving_) {
      const std::int64_t begin = block * kShare;
      const std::int64_t end = begin + kShare < row.count ? begin + kShare : row.count;
      for (std::int64_t at = begin; at < end;) {
        // Of all channels, points follow each other.
        const std::int64_t behind = at % channels_, left = end - at;
        const std::int64_t of_point = channels_ == step_ ? left : channels_ - behind;
        const std::int64_t count = of_point < left ? of_point : left;
        copy_past_caches(row.from + at, row.to + at / channels_ * step_ + behind, count);
        at += count;
      }
    }
  }
  /// All of the last one.
  void finish() {
    begin(0, 0, 0, 0, 0);
    for (std::int64_t block = 0; block * kLanes < channels_; ++block) pass(block);
  }

 private:
  struct Leaving {
    const T* from = nullptr;
    T* to = nullptr;
    std::int64_t count = 0;
  };
  T* const first_;
  const std::int64_t width_, step_;
  const std::int64_t channels_;
  const bool passes_;
  WidePlaces<T> found_ = {};
  T* places_[kWideRows] = {};
  Leaving leaving_[kWideRows];
  int turn_ = 0;
  alignas(64) T aside_[2][kWideRows * kMostPoints * kWideChannels];
};

/// The weights of 16 channels, or both axes in opposite order.
struct WideTaps {
  Lanes at[DepthwisePlane::kTaps];
  WideTaps(const float* weights, bool turned) {
    constexpr int kLast = DepthwisePlane::kTaps - 1;
#pragma GCC unroll 9
    for (int tap = 0; tap <= kLast; ++tap) {
      at[tap] = Full::load(weights + (turned ? kLast - tap : tap) * kLanes, kLanes);
    }
  }
};

/// 16 channels, or the fewer that are left, of those that are gone over.
struct WideBlock {
  std::int64_t block = 0;  ///< of 16
  int channels = 0;
  std::int64_t place() const { return block * kLanes; }
};

/// Calls use(access, block) for all of `channels`.
template <class Use>
void for_each_wide_block(int channels, const Use& use) {
  WideBlock at;
  at.channels = kLanes;
  for (; at.place() + kLanes <= channels; ++at.block) use(Full(), at);
  at.channels = channels - static_cast<int>(at.place());
  if (at.channels > 0) use(Partial(), at);
}

/// Calls use(row, rows) for rows that together are `rows`, each with the one `apart` behind it if
/// that is there, too.
template <class Use>
void for_row_pairs(RowRange rows, std::int64_t apart, const Use& use) {
  for (std::int64_t first = rows.first; first < rows.end; first += kWideRows * apart) {
    for (std::int64_t row = first; row < first + apart && row < rows.end; ++row) {
      use(row, row + apart < rows.end ? kWideRows : 1);
    }
  }
}

/// Calls use(first, channels) for all channels of a plane, kWideChannels at a time.
template <class Use>
void for_wide_channels(const DepthwisePlane& plane, const Use& use) {
  for (int first = 0; first < plane.channels; first += kWideChannels) {
    const int left = plane.channels - first;
    use(first, left < kWideChannels ? left : kWideChannels);
  }
}

/// Calls use(column, points) for a row's segments.
template <class Use>
void for_each_segment(std::int64_t width, const Use& use) {
  for (std::int64_t column = 0; column < width; column += kSegment) {
    const std::int64_t left = width - column;
    use(column, left < kSegment ? static_cast<int>(left) : kSegment);
  }
}

inline bool passes_caches(const DepthwisePlane& plane) {
#if defined(__AVX512F__)
  return plane.stores == Stores::kStreamed;
#else
  (void)plane;
  return false;
#endif
}

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

/// Sums of 16 channels' products with all taps, in float while a row or two are gone over.
class WideTotals {
 public:
  void clear(int channels) {
    for (std::int64_t i = 0; i < count(channels); ++i) totals_[i] = 0.0F;
  }
  float* of(const WideBlock& block) { return totals_ + block.place() * DepthwisePlane::kTaps; }
  void add_to(double* sums, int channels) const {
    for (std::int64_t i = 0; i < count(channels); ++i) sums[i] += static_cast<double>(totals_[i]);
  }

 private:
  static std::int64_t count(int channels) {
    return std::int64_t{(channels + kLanes - 1) / kLanes} * kLanes * DepthwisePlane::kTaps;
  }
  alignas(64) float totals_[kWideChannels * DepthwisePlane::kTaps];
};

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
