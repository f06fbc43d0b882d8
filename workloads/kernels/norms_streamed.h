// Forward pass of batch norms over contiguous rows of all channels, cache line by cache line, with
// streaming stores; and a streaming copy. Follows the rules of lanes.h.
#pragma once

#include "workloads/kernels/lanes.h"

namespace nn {
namespace {

enum class Adds { kNothing, kValue, kNormalized };

/// Operands of a batch norm's forward pass.
template <class T>
struct NormOperands {
  const T* src;
  const Normalization& norm;
  const Residual<T>& residual;
  T* dst;
  PassedBits* passed;
  const Column& column;
};

/// Whether the output consists of whole cache lines.
template <class T>
bool is_in_lines(const NormOperands<T>& of) {
  const Column& column = of.column;
  return column.width == column.stride && column.rows * column.width % kLineElements<T> == 0 &&
         reinterpret_cast<std::uintptr_t>(of.dst) % kLineBytes == 0 &&
         (of.passed == nullptr || column.width % kLanes == 0);
}

inline void stream_line(float* to, const Lanes (&values)[1]) {
  Streamed::store(to, values[0], kLanes);
}
inline void stream_line(Bf16* to, const Lanes (&values)[2]) {
#if defined(__AVX512BW__)
  const __m512i lower = _mm512_castsi256_si512(reinterpret_cast<__m256i>(rounded(values[0])));
  const auto upper = reinterpret_cast<__m256i>(rounded(values[1]));
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to),
                      _mm512_maskz_inserti64x4(0xFF, lower, upper, 1));
#else
  for (int part = 0; part < 2; ++part) Full::store(to + part * kLanes, values[part], kLanes);
#endif
}

/// The factors of a row, repeated so that a line that begins with any channel finds those of its
/// elements side by side.
template <class T>
class LineFactors {
 public:
  LineFactors(const Normalization& norm, int width)
      : period_((kLineElements<T> + width - 1) / width * width) {
    int channel = 0;
    for (int i = 0; i < period_ + kLineElements<T>; ++i) {
      mean_[i] = norm.mean[channel];
      scale_[i] = norm.scale[channel];
      shift_[i] = norm.shift[channel];
      if (++channel == width) channel = 0;
    }
  }
  /// (value - mean) * scale + shift, for 16 channels.
  Lanes apply(const Lanes& value, int channel) const {
    return (value - Full::load(mean_ + channel, kLanes)) * Full::load(scale_ + channel, kLanes) +
           Full::load(shift_ + channel, kLanes);
  }
  /// The first channel of the line after the one that begins with `channel`.
  int next(int channel) const {
    const int behind = channel + kLineElements<T>;
    return behind < period_ ? behind : behind - period_;
  }

 private:
  static constexpr int kMost = Column::kMostChannels + 2 * kLineElements<T>;
  const int period_;
  float mean_[kMost], scale_[kMost], shift_[kMost];
};

/// Stores the signs of 16 channels at a time, in memory order, to their places in PassedBits.
class SignPlaces {
 public:
  SignPlaces(PassedBits* passed, const Column& column)
      : at_(passed), first_(passed), rows_(column.rows), parts_(column.width / kLanes) {}
  void put(PassedBits signs) {
    *at_ = signs;
    at_ += rows_;
    if (++part_ < parts_) return;
    part_ = 0;
    at_ = ++first_;
  }

 private:
  PassedBits* at_;
  PassedBits* first_;  ///< of the row
  const std::int64_t rows_;
  const int parts_;
  int part_ = 0;
};

/// Gives the same bits as normalize_tile().
template <bool kRelu, Adds kAdds, bool kKeeps, class T>
void normalize_lines(const NormOperands<T>& of) {
  constexpr int kLine = kLineElements<T>, kParts = kLine / kLanes;
  constexpr std::int64_t kAhead = kAheadBytes / static_cast<std::int64_t>(sizeof(T));
  const int width = of.column.width;
  const std::int64_t count = of.column.rows * width;
  const LineFactors<T> factors(of.norm, width);
  const LineFactors<T> others(kAdds == Adds::kNormalized ? *of.residual.norm : of.norm, width);
  SignPlaces signs(of.passed, of.column);
  int channel = 0;
  for (std::int64_t at = 0; at < count; at += kLine) {
    Lanes values[kParts];
    __builtin_prefetch(of.src + at + kAhead);
    if (kAdds != Adds::kNothing) __builtin_prefetch(of.residual.src + at + kAhead);
#pragma GCC unroll 2
    for (int part = 0; part < kParts; ++part) {
      const std::int64_t place = at + part * kLanes;
      const int first = channel + part * kLanes;
      Lanes value = factors.apply(Full::load(of.src + place, kLanes), first);
      if (kAdds == Adds::kValue) value += Full::load(of.residual.src + place, kLanes);
      if (kAdds == Adds::kNormalized) {
        value += others.apply(Full::load(of.residual.src + place, kLanes), first);
      }
      if (kKeeps) signs.put(signs_of(value));
      if (kRelu) value = relu_of(value);
      values[part] = value;
    }
    stream_line(of.dst + at, values);
    channel = factors.next(channel);
  }
}

inline void stream_copy(const void* from, std::int64_t bytes, void* to) {
  const auto* const source = static_cast<const char*>(from);
  auto* const place = static_cast<char*>(to);
  std::int64_t at = 0;
#if defined(__AVX512F__)
  if (reinterpret_cast<std::uintptr_t>(to) % kLineBytes == 0) {
    for (; at + kLineBytes <= bytes; at += kLineBytes) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(place + at), _mm512_loadu_si512(source + at));
    }
    finish_streams();
  }
#endif
  __builtin_memcpy(place + at, source + at, static_cast<std::size_t>(bytes - at));
}

}  // namespace
}  // namespace nn
