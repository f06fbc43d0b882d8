// Taps of some channels of a plane of all, as rows of points that are gone over line of memory by
// line meet them. By the rules of lanes.h. Hides which channels a line has that reaches into the
// next point.
#pragma once

#include "workloads/kernels/depthwise_kernels.h"
#include "workloads/kernels/memory_lines.h"

namespace nn {
namespace {

/// Whether whole lines of rows that begin at `to` and have so many numbers may pass by the caches.
template <class T>
bool passes_caches(const DepthwisePlane& plane, const T* to, std::int64_t numbers) {
  return plane.stores == Stores::kStreamed && numbers % kLineNumbers<T> == 0 &&
         reinterpret_cast<std::uintptr_t>(to) % kLineBytes == 0;
}

/// Some rows of points of all channels, `apart` from each other.
template <int kRows, class T>
struct PointRows {
  static constexpr int kCount = kRows;
  T* row[kRows];            ///< for one that is not there, the first of all
  LinePlaces there[kRows];  ///< of each: all, or none
  bool are_there = true;
  PointRows(T* values, std::int64_t numbers, std::int64_t height, std::int64_t first,
            std::int64_t apart = 1) {
    for (int i = 0; i < kRows; ++i) {
      const std::int64_t y = first + i * apart;
      const bool is_there = y >= 0 && y < height;
      there[i] = is_there ? kAllPlaces : LinePlaces{0};
      are_there = are_there && is_there;
      row[i] = is_there ? values + y * numbers : values;
    }
  }
  /// Asks for what is read from a number on, in rows behind those that were met before.
  void ask(std::int64_t number, int met) const {
    constexpr int kToRead = 0, kSecondCache = 2;
    constexpr std::int64_t kAhead = kAheadBytes / static_cast<std::int64_t>(sizeof(T));
#pragma GCC unroll 8
    for (int i = met; i < kRows; ++i) {
      __builtin_prefetch(row[i] + number + kAhead, kToRead, kSecondCache);
    }
  }
};

/// Calls find(row, rows found together, known when compiled) for all of `rows`: kTogether that are
/// `apart` from each other, or one.
template <int kTogether, class Find>
void for_wide_rows(RowRange rows, std::int64_t apart, const Find& find) {
  std::int64_t row = rows.first;
  for (; row + kTogether * apart <= rows.end; row += kTogether * apart) {
    for (std::int64_t i = 0; i < apart; ++i) find(row + i, Count<kTogether>());
  }
  for (; row < rows.end; ++row) find(row, Count<1>());
}

/// Channels of every point whose taps stay in the nearest caches. A line belongs to those that its
/// first number is of.
struct ChannelWindow {
  static constexpr int kMost = 2048;
  int first = 0, count = 0;
  int channels = 0;  ///< in all
  /// Of a number that stands so far behind the first channel's.
  int channel(int behind) const {
    const int next = first + behind;
    return next < channels ? next : next - channels;  // of the next point
  }
};

/// Calls use(window) for all of `channels`, shared evenly, each window of whole lines but the last.
template <class Use>
void for_each_window(int channels, const Use& use) {
  constexpr int kWhole = kLineNumbers<Bf16>;
  const int windows = (channels + ChannelWindow::kMost - 1) / ChannelWindow::kMost;
  const int share = ((channels + windows - 1) / windows + kWhole - 1) / kWhole * kWhole;
  for (int first = 0; first < channels; first += share) {
    const int left = channels - first;
    use(ChannelWindow{first, left < share ? left : share, channels});
  }
}

/// Numbers [tap][channel] of a window, zeros at first, and those of a line's end behind it.
template <class T>
class WindowTaps {
 public:
  static constexpr int kTaps = static_cast<int>(DepthwisePlane::kTaps);
  explicit WindowTaps(const ChannelWindow& window) : window_(window) {
    for (int span = 0; span < kTaps * kParts; ++span) {
      float* const numbers = numbers_ + span * kSpan;
      for (int i = 0; i < (window.count + kFurther) / kParts; ++i) numbers[i] = 0.0F;
    }
  }

  /// weights [C / 16][9][16]; `turned`: taps in opposite order.
  void set(const float* weights, bool turned) {
    Flat flat;
    for (int tap = 0; tap < kTaps; ++tap) {
      const int from = turned ? kTaps - 1 - tap : tap;
      for (int i = 0; i < window_.count; i += kLanes) {
        Full::store(flat.of + i, Full::load(weights + place(window_.first + i, from), kLanes),
                    kLanes);
      }
      for (int i = window_.count; i < window_.count + kLine; ++i) {
        flat.of[i] = weights[place(window_.channel(i), from)];
      }
      for (int i = 0; i < window_.count + kLine; i += kLine) {
        LineLanes<T> line;
        split_floats(flat.of + i, line);
        for (int part = 0; part < kParts; ++part) {
          Full::store(at(i) + to_tap(tap, part), line[part], kLanes);
        }
      }
    }
  }
  /// sums [C / 16][9][16] += the numbers; `turned`: taps in opposite order.
  void add_to(double* sums, bool turned) const {
    Flat flat;
    for (int tap = 0; tap < kTaps; ++tap) {
      const int to = turned ? kTaps - 1 - tap : tap;
      for (int i = 0; i < window_.count + kLine; i += kLine) {
        LineLanes<T> line;
        for (int part = 0; part < kParts; ++part) {
          line[part] = Full::load(at(i) + to_tap(tap, part), kLanes);
        }
        join_floats(line, flat.of + i);
      }
      for_each_piece(window_.count, [&](auto access, std::int64_t at, int width) {
        const Lanes value = decltype(access)::load(flat.of + at, width);
        double* const sum = sums + place(window_.first + static_cast<int>(at), to);
        for (int lane = 0; lane < kLanes; ++lane) sum[lane] += static_cast<double>(value[lane]);
      });
      for (int i = window_.count; i < window_.count + kLine; ++i) {
        sums[place(window_.channel(i), to)] += static_cast<double>(flat.of[i]);
      }
    }
  }
  /// The first tap's of a line that begins so many numbers behind the window's first one: an even
  /// number, which may be negative, of a line that begins before it.
  const float* at(std::int64_t behind) const { return numbers_ + (behind + kLine) / kParts; }
  float* at(std::int64_t behind) { return numbers_ + (behind + kLine) / kParts; }
  /// From there to a tap's.
  static constexpr std::int64_t to_tap(int tap, int part) { return (tap * kParts + part) * kSpan; }

 private:
  static constexpr int kLine = kLineNumbers<T>, kParts = kLineParts<T>;
  /// A line before the window, one behind it, and what fills the last one.
  static constexpr int kFurther = 3 * kLine;
  static constexpr int kAll = ChannelWindow::kMost + kFurther;
  static constexpr int kSpan = kAll / kParts;
  struct Flat {
    alignas(kLineBytes) float of[kAll] = {};
  };
  static std::int64_t place(int channel, int tap) {
    return (channel / kLanes * DepthwisePlane::kTaps + tap) * kLanes + channel % kLanes;
  }
  const ChannelWindow window_;
  alignas(kLineBytes) float numbers_[kTaps * kParts * kSpan];  ///< [tap][part][span]
};

}  // namespace
}  // namespace nn
