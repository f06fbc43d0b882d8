// Points of all channels that depthwise kernels read and write: where channels are last, and a
// plane's points of 16 channels would be parts of lines from all over the memory. As
// kernels_body.h, whose part it is: compiled once per instruction set, internal linkage, nothing of
// the standard library.
// Hides edges, what is asked of memory ahead, and how whole lines leave.
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
constexpr int kPointRows = 2;

template <class T>
alignas(64) constexpr T kZeros[kWideChannels] = {};

/// Rows of points of all channels, of which some are gone over, and zeros around them.
template <class T>
struct PointRows {
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
  void find(const PointRows<T>& rows, std::int64_t row, std::int64_t column) {
    for (int line = 0; line < kLines; ++line) {
      for (int i = 0; i < kColumns; ++i) at[line][i] = rows.at(row + line, column + i);
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
  T* to[kPointRows];
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
  /// For `points` points of `rows` rows.
  WidePlaces<T> begin(std::int64_t row, std::int64_t column, int rows, int points) {
    for (int i = 0; i < kPointRows; ++i) {
      T* const place = first_ + ((row + i) * width_ + column) * step_;
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
    begin(0, 0, 0, 0);
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
  T* places_[kPointRows] = {};
  Leaving leaving_[kPointRows];
  int turn_ = 0;
  alignas(64) T aside_[2][kPointRows * kMostPoints * kWideChannels];
};

/// The weights of 16 channels.
struct WideTaps {
  Lanes at[DepthwisePlane::kTaps];
  explicit WideTaps(const float* weights) {
#pragma GCC unroll 9
    for (int tap = 0; tap < DepthwisePlane::kTaps; ++tap) {
      at[tap] = Full::load(weights + tap * kLanes, kLanes);
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

}  // namespace
}  // namespace nn
