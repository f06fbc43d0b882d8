// Loads and stores of whole cache lines as vectors of 16 lanes. A line of floats is one vector; a
// line of bfloat16 is two, of the elements in even and in odd places, each of which one instruction
// converts. Follows the rules of lanes.h.
#pragma once

#include "workloads/kernels/lanes.h"

namespace nn {
namespace {

template <class T>
constexpr int kLineParts = kLineElements<T> / kLanes;

/// The elements of a line.
template <class T>
using LineLanes = Lanes[kLineParts<T>];

/// Bit i is set if element i of a line is present.
using LinePlaces = std::uint32_t;
constexpr LinePlaces kAllPlaces = ~LinePlaces{0};
inline bool is_there(LinePlaces places, int place) { return (places >> place & 1) != 0; }

/// The places in [first, end); either bound may be outside the line.
template <class T>
LinePlaces places_between(std::int64_t first, std::int64_t end) {
  const auto before = [](std::int64_t place) {
    constexpr std::int64_t kLine = kLineElements<T>;
    return place <= 0 ? 0 : (std::uint64_t{1} << (place < kLine ? place : kLine)) - 1;
  };
  return static_cast<LinePlaces>(before(end) & ~before(first));
}

inline void split(const Words& pairs, LineLanes<Bf16>& line) {
  constexpr std::uint32_t kUpperHalf = 0xFFFF0000;
  line[0] = reinterpret_cast<Lanes>(pairs << 16);
  line[1] = reinterpret_cast<Lanes>(pairs & kUpperHalf);
}

inline void load_line(const float* from, LineLanes<float>& line) {
  line[0] = Full::load(from, kLanes);
}
inline void load_line(const Bf16* from, LineLanes<Bf16>& line) {
  Words pairs;
  __builtin_memcpy(&pairs, from, sizeof pairs);
#if defined(__AVX512F__)
  asm("" : "+v"(pairs));  // otherwise compilers load a line twice, once for each half of the pairs
#endif
  split(pairs, line);
}

/// Loads the elements present. The others are zero and are not read.
inline void load_some(const float* from, LinePlaces places, LineLanes<float>& line) {
#if defined(__AVX512BW__)
  const auto there = static_cast<__mmask16>(places);
  line[0] = reinterpret_cast<Lanes>(_mm512_maskz_loadu_ps(there, from));
#else
  float floats[kLanes] = {};
  for (int i = 0; i < kLanes; ++i) {
    if (is_there(places, i)) floats[i] = from[i];
  }
  load_line(floats, line);
#endif
}
inline void load_some(const Bf16* from, LinePlaces places, LineLanes<Bf16>& line) {
#if defined(__AVX512BW__)
  split(reinterpret_cast<Words>(_mm512_maskz_loadu_epi16(places, from)), line);
#else
  Bf16 numbers[kLineElements<Bf16>] = {};
  for (int i = 0; i < kLineElements<Bf16>; ++i) {
    if (is_there(places, i)) numbers[i] = from[i];
  }
  load_line(numbers, line);
#endif
}

/// kIsWhole: all elements are present.
template <bool kIsWhole, class T>
void load_part(const T* from, LinePlaces places, Lanes (&line)[kLineParts<T>]) {
  if constexpr (kIsWhole) return load_line(from, line);
  load_some(from, places, line);
}

/// The line as stored: rounded, in memory order.
inline Words joined(const LineLanes<float>& line) { return reinterpret_cast<Words>(line[0]); }
inline Words joined(const LineLanes<Bf16>& line) {
#if defined(__AVX512BF16__) && defined(__AVX512BW__)
  const auto halves = reinterpret_cast<__m512i>(
      _mm512_cvtne2ps_pbh(reinterpret_cast<__m512>(line[1]), reinterpret_cast<__m512>(line[0])));
  const Words pairs = {0 | 16 << 16,  1 | 17 << 16,  2 | 18 << 16,  3 | 19 << 16,
                       4 | 20 << 16,  5 | 21 << 16,  6 | 22 << 16,  7 | 23 << 16,
                       8 | 24 << 16,  9 | 25 << 16,  10 | 26 << 16, 11 | 27 << 16,
                       12 | 28 << 16, 13 | 29 << 16, 14 | 30 << 16, 15 | 31 << 16};
  return reinterpret_cast<Words>(
      _mm512_maskz_permutexvar_epi16(0xFFFFFFFF, reinterpret_cast<__m512i>(pairs), halves));
#else
  return words_of(rounded(line[0])) | words_of(rounded(line[1])) << 16;
#endif
}

/// `passes`: with a streaming store, which requires that `to` is aligned to a cache line.
template <class T>
void store_line(T* to, const Lanes (&line)[kLineParts<T>], bool passes) {
  const Words words = joined(line);
#if defined(__AVX512F__)
  if (passes) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), reinterpret_cast<__m512i>(words));
    return;
  }
#else
  (void)passes;
#endif
  __builtin_memcpy(to, &words, sizeof words);
}

/// Stores the elements present.
template <class T>
void store_some(T* to, const Lanes (&line)[kLineParts<T>], LinePlaces places) {
  const Words words = joined(line);
#if defined(__AVX512BW__)
  const auto numbers = reinterpret_cast<__m512i>(words);
  if constexpr (sizeof(T) == sizeof(float)) {
    _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(places), numbers);
  } else {
    _mm512_mask_storeu_epi16(to, places, numbers);
  }
#else
  for (int i = 0; i < kLineElements<T>; ++i) {
    if (!is_there(places, i)) continue;
    __builtin_memcpy(to + i, reinterpret_cast<const T*>(&words) + i, sizeof(T));
  }
#endif
}

template <bool kIsWhole, class T>
void store_part(T* to, const Lanes (&line)[kLineParts<T>], LinePlaces places, bool passes) {
  if constexpr (kIsWhole) return store_line(to, line, passes);
  store_some(to, line, places);
}

/// Loads a line's number of floats, in the order in which load_line() loads a line of T.
inline void split_floats(const float* from, LineLanes<float>& line) { load_line(from, line); }
inline void split_floats(const float* from, LineLanes<Bf16>& line) {
  const Lanes first = Full::load(from, kLanes), second = Full::load(from + kLanes, kLanes);
  line[0] = __builtin_shufflevector(first, second, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24,
                                    26, 28, 30);
  line[1] = __builtin_shufflevector(first, second, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25,
                                    27, 29, 31);
}

/// The inverse of split_floats().
inline void join_floats(const LineLanes<float>& line, float* to) {
  Full::store(to, line[0], kLanes);
}
inline void join_floats(const LineLanes<Bf16>& line, float* to) {
  const Lanes first = __builtin_shufflevector(line[0], line[1], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                              5, 21, 6, 22, 7, 23);
  const Lanes second = __builtin_shufflevector(line[0], line[1], 8, 24, 9, 25, 10, 26, 11, 27, 12,
                                               28, 13, 29, 14, 30, 15, 31);
  Full::store(to, first, kLanes);
  Full::store(to + kLanes, second, kLanes);
}

}  // namespace
}  // namespace nn
