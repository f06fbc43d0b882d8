// Rows of pixels of all channels, which the wide depthwise kernels process cache line by cache
// line, and the taps of a window of channels, laid out to match. Follows the rules of lanes.h.
#pragma once

#include "workloads/kernels/depthwise_kernels.h"
#include "workloads/kernels/memory_lines.h"

namespace nn {
namespace {

/// Whether rows of `numbers` elements that begin at `to` are written with streaming stores.
template <class T>
bool passes_caches(const DepthwisePlane& plane, const T* to, std::int64_t numbers) {
  return plane.stores == Stores::kStreamed && numbers % kLineElements<T> == 0 &&
         reinterpret_cast<std::uintptr_t>(to) % kLineBytes == 0;
}

/// kRows rows of pixels of all channels, `apart` rows from each other.
template <int kRows, class T>
struct PointRows {
  static constexpr int kCount = kRows;
  T* row[kRows];            ///< row 0 in place of rows outside the plane
  LinePlaces there[kRows];  ///< all places of a row inside the plane, or none
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
  /// Prefetches ahead of element `number`, in all rows but the first `met`, which were read before.
  void ask(std::int64_t number, int met) const {
    constexpr int kToRead = 0, kSecondCache = 2;
    constexpr std::int64_t kAhead = kAheadBytes / static_cast<std::int64_t>(sizeof(T));
#pragma GCC unroll 8
    for (int i = met; i < kRows; ++i) {
      __builtin_prefetch(row[i] + number + kAhead, kToRead, kSecondCache);
    }
  }
};

/// Calls find(row, Count<n>()) for all of `rows`, where n is kTogether, for rows that are `apart`
/// from each other, or 1.
template <int kTogether, class Find>
void for_wide_rows(RowRange rows, std::int64_t apart, const Find& find) {
  std::int64_t row = rows.first;
  for (; row + kTogether * apart <= rows.end; row += kTogether * apart) {
    for (std::int64_t i = 0; i < apart; ++i) find(row + i, Count<kTogether>());
  }
  for (; row < rows.end; ++row) find(row, Count<1>());
}

/// A range of channels whose taps stay in the nearest caches. A line that two windows share belongs
/// to the window of its first element.
struct ChannelWindow {
  static constexpr int kMost = 2048;
  int first = 0, count = 0;
  int channels = 0;  ///< of the plane
  /// The channel of the element `behind` elements after the first channel's.
  int channel(int behind) const {
    const int next = first + behind;
    return next < channels ? next : next - channels;  // of the next pixel
  }
};

/// Calls use(window) for all of `channels`, divided evenly; all windows but the last are whole
/// lines.
template <class Use>
void for_each_window(int channels, const Use& use) {
  constexpr int kWhole = kLineElements<Bf16>;
  const int windows = (channels + ChannelWindow::kMost - 1) / ChannelWindow::kMost;
  const int share = ((channels + windows - 1) / windows + kWhole - 1) / kWhole * kWhole;
  for (int first = 0; first < channels; first += share) {
    const int left = channels - first;
    use(ChannelWindow{first, left < share ? left : share, channels});
  }
}

/// Values [tap][channel] of a window, initially zero, and of the channels that follow it in its
/// last line.
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

  /// weights [C / 16][9][16]; `turned`: taps in reverse order.
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
  /// sums [C / 16][9][16] += the values; `turned`: taps in reverse order.
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
  /// Values of the first tap for a line that begins `behind` elements after the window's first.
  /// `behind` is even, and negative for a line that begins before the window.
  const float* at(std::int64_t behind) const { return numbers_ + (behind + kLine) / kParts; }
  float* at(std::int64_t behind) { return numbers_ + (behind + kLine) / kParts; }
  /// Distance from at() to the values of a tap and part.
  static constexpr std::int64_t to_tap(int tap, int part) { return (tap * kParts + part) * kSpan; }

 private:
  static constexpr int kLine = kLineElements<T>, kParts = kLineParts<T>;
  /// A line before the window, one after it, and the rest of the last one.
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
