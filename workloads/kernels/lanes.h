// Vectors of 16 adjacent channels, loaded from float or bfloat16: the types in which all kernels
// are written.
//
// The rules for all kernels' source: it is compiled once per instruction set and included only by
// table.h and isa_*.cpp; everything has internal linkage and calls nothing from the standard
// library. Otherwise the linker might keep a shared inline function compiled here for AVX-512 as
// the copy that all callers use.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "workloads/kernels/kernels.h"
#include "workloads/kernels/tiling.h"

namespace nn {
namespace {

using Lanes = float __attribute__((vector_size(64), aligned(4)));
using Mask = int __attribute__((vector_size(64), aligned(4)));
using Words = std::uint32_t __attribute__((vector_size(64), aligned(4)));
using Halves = std::uint16_t __attribute__((vector_size(32), aligned(2)));

/// A cache line.
constexpr std::int64_t kLineBytes = 64;
template <class T>
constexpr int kLineElements = kLineBytes / static_cast<std::int64_t>(sizeof(T));

inline Lanes zero() { return Lanes{}; }

/// The halves, zero-extended. GCC 12 compiles the plain conversion to four instructions instead of
/// one. The intrinsics are masked with all lanes set because GCC 12 warns about the undefined value
/// that the unmasked forms start from.
inline Words words_of(const Halves& halves) {
#if defined(__AVX512F__)
  return reinterpret_cast<Words>(
      _mm512_maskz_cvtepu16_epi32(0xFFFF, reinterpret_cast<__m256i>(halves)));
#else
  return __builtin_convertvector(halves, Words);
#endif
}

/// The lower half of each word.
inline Halves halves_of(const Words& words) {
#if defined(__AVX512F__)
  return reinterpret_cast<Halves>(
      _mm512_maskz_cvtepi32_epi16(0xFFFF, reinterpret_cast<__m512i>(words)));
#else
  return __builtin_convertvector(words, Halves);
#endif
}

/// Each half as the upper half of a float: in one instruction instead of two if AVX512BW is
/// available.
inline Lanes widened(const Halves& halves) {
#if defined(__AVX512BW__)
  constexpr __mmask32 kUpperHalves = 0xAAAAAAAA;
  const Words places = {0 << 16,  1 << 16,  2 << 16,  3 << 16, 4 << 16,  5 << 16,
                        6 << 16,  7 << 16,  8 << 16,  9 << 16, 10 << 16, 11 << 16,
                        12 << 16, 13 << 16, 14 << 16, 15 << 16};
  return reinterpret_cast<Lanes>(
      _mm512_maskz_permutexvar_epi16(kUpperHalves, reinterpret_cast<__m512i>(places),
                                     _mm512_castsi256_si512(reinterpret_cast<__m256i>(halves))));
#else
  return reinterpret_cast<Lanes>(words_of(halves) << 16);
#endif
}

/// Rounds to nearest, ties to even; NaN becomes a quiet NaN of the same sign. The AVX-512 BF16
/// instruction treats subnormal numbers as zero.
inline Halves rounded(const Lanes& value) {
#if defined(__AVX512BF16__)
  return reinterpret_cast<Halves>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(value)));
#else
  const Words bits = reinterpret_cast<Words>(value);
  const Words nearest = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  const Mask is_number = value == value;
  const Words words = is_number ? nearest : (bits >> 16) | 0x40u;
  return halves_of(words);
#endif
}

/// Bit c: value[c] > 0.
inline PassedBits signs_of(const Lanes& value) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(reinterpret_cast<__m512>(value), _mm512_setzero_ps(), _CMP_GT_OQ);
#elif defined(__SSE2__)
  const Mask positive = value > 0.0F;
  unsigned bits = 0;
  for (int quarter = 0; quarter < 4; ++quarter) {
    __m128 four;
    __builtin_memcpy(&four, reinterpret_cast<const char*>(&positive) + quarter * 16, sizeof four);
    bits |= static_cast<unsigned>(_mm_movemask_ps(four)) << (quarter * 4);
  }
  return static_cast<PassedBits>(bits);
#else
  unsigned bits = 0;
  for (int lane = 0; lane < kLanes; ++lane) bits |= (value[lane] > 0.0F ? 1U : 0U) << lane;
  return static_cast<PassedBits>(bits);
#endif
}

/// value[c] where bit c is set, else 0.
inline Lanes masked(const Lanes& value, PassedBits passed) {
#if defined(__AVX512F__)
  return reinterpret_cast<Lanes>(_mm512_maskz_mov_ps(passed, reinterpret_cast<__m512>(value)));
#else
  const Words lane_bits = {1,      1 << 1, 1 << 2,  1 << 3,  1 << 4,  1 << 5,  1 << 6,  1 << 7,
                           1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15};
  const Mask is_set = (lane_bits & static_cast<std::uint32_t>(passed)) != 0;
  return is_set ? value : zero();
#endif
}

/// Loads and stores of 16 adjacent channels.
struct Full {
  static Lanes load(const float* from, int /*width*/) {
    Lanes value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
  }
  static Halves halves(const Bf16* from, int /*width*/) {
    Halves halves;
    __builtin_memcpy(&halves, from, sizeof halves);
    return halves;
  }
  static Lanes load(const Bf16* from, int width) { return widened(halves(from, width)); }
  static void store(float* to, const Lanes& value, int /*width*/) {
    __builtin_memcpy(to, &value, sizeof value);
  }
  static void store(Bf16* to, const Halves& halves, int /*width*/) {
    __builtin_memcpy(to, &halves, sizeof halves);
  }
  static void store(Bf16* to, const Lanes& value, int width) { store(to, rounded(value), width); }
};

/// As Full, but with streaming stores, to places that can_stream() allows. Other threads see them
/// after finish_streams().
struct Streamed : Full {
#if defined(__AVX512F__)
  static void store(float* to, const Lanes& value, int /*width*/) {
    _mm512_stream_ps(to, reinterpret_cast<__m512>(value));
  }
  static void store(Bf16* to, const Lanes& value, int /*width*/) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(rounded(value)));
  }
#endif
};

/// Whether vectors stored at `first` and every `stride` elements after it are aligned and
/// contiguous, as Streamed requires.
template <class T>
bool can_stream(const T* first, std::int64_t stride) {
  constexpr std::uintptr_t kBytes = kLanes * sizeof(T);
  return reinterpret_cast<std::uintptr_t>(first) % kBytes == 0 && stride == kLanes;
}

inline void finish_streams() {
#if defined(__AVX512F__)
  _mm_sfence();
#endif
}

/// Loads and stores of fewer than 16 channels.
struct Partial {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  static __mmask16 mask_of(int width) { return static_cast<__mmask16>((1U << width) - 1U); }
  static Lanes load(const float* from, int width) {
    return reinterpret_cast<Lanes>(_mm512_maskz_loadu_ps(mask_of(width), from));
  }
  static Halves halves(const Bf16* from, int width) {
    return reinterpret_cast<Halves>(_mm256_maskz_loadu_epi16(mask_of(width), from));
  }
  static void store(float* to, const Lanes& value, int width) {
    _mm512_mask_storeu_ps(to, mask_of(width), reinterpret_cast<__m512>(value));
  }
  static void store(Bf16* to, const Halves& halves, int width) {
    _mm256_mask_storeu_epi16(to, mask_of(width), reinterpret_cast<__m256i>(halves));
  }
#else
  static Lanes load(const float* from, int width) {
    Lanes value = zero();
    for (int lane = 0; lane < width; ++lane) value[lane] = from[lane];
    return value;
  }
  static Halves halves(const Bf16* from, int width) {
    Halves halves = {};
    for (int lane = 0; lane < width; ++lane) halves[lane] = from[lane].bits;
    return halves;
  }
  static void store(float* to, const Lanes& value, int width) {
    for (int lane = 0; lane < width; ++lane) to[lane] = value[lane];
  }
  static void store(Bf16* to, const Halves& halves, int width) {
    for (int lane = 0; lane < width; ++lane) to[lane].bits = halves[lane];
  }
#endif
  static Lanes load(const Bf16* from, int width) { return widened(halves(from, width)); }
  static void store(Bf16* to, const Lanes& value, int width) { store(to, rounded(value), width); }
};

constexpr int kAheadBytes = 4096;

/// As Access::load, for long sequential reads. Prefetches `ahead` elements further on: hardware
/// prefetchers do too little for several streams at once and beyond the end of a page.
template <class Access, class T>
Lanes load_ahead(const T* from, int width, std::int64_t ahead) {
  __builtin_prefetch(from + ahead);
  return Access::load(from, width);
}
/// The same for contiguous elements, one page ahead.
template <class Access, class T>
Lanes load_on_way(const T* from, int width) {
  return load_ahead<Access>(from, width, kAheadBytes / static_cast<std::int64_t>(sizeof(T)));
}

/// As Access::store, for long sequential writes with ordinary stores, for which the cache reads a
/// line before it is written.
template <class Access, class T>
void store_on_way(T* to, const Lanes& value, int width) {
  constexpr int kToWrite = 1;
  __builtin_prefetch(reinterpret_cast<const char*>(to) + kAheadBytes, kToWrite);
  Access::store(to, value, width);
}

/// An integer known at compile time, as an argument.
template <int kNumber>
struct Count {
  static constexpr int kCount = kNumber;
};

/// Calls use(access, place, width) for all of [0, count), 16 at a time.
template <class Use>
void for_each_piece(std::int64_t count, const Use& use) {
  std::int64_t at = 0;
  for (; at + kLanes <= count; at += kLanes) use(Full(), at, kLanes);
  if (at < count) use(Partial(), at, static_cast<int>(count - at));
}

/// The value that a load would return after `value` was stored.
inline Lanes as_stored(const float* /*where*/, const Lanes& value) { return value; }
inline Lanes as_stored(const Bf16* /*where*/, const Lanes& value) {
  return widened(rounded(value));
}

// NaN must stay NaN, or a diverged network would look like one that learns nothing.
inline Lanes relu_of(const Lanes& value) { return value < 0.0F ? zero() : value; }

template <class T>
void accumulate(T* dst, const T* src, std::int64_t count) {
  for_each_piece(count, [&](auto access, std::int64_t at, int width) {
    using Access = decltype(access);
    const Lanes before = load_on_way<Access>(dst + at, width);
    Access::store(dst + at, before + load_on_way<Access>(src + at, width), width);
  });
}

template <class From, class To>
void convert(const From* src, To* dst, std::int64_t count) {
  for_each_piece(count, [&](auto access, std::int64_t at, int width) {
    access.store(dst + at, load_on_way<decltype(access)>(src + at, width), width);
  });
}

}  // namespace
}  // namespace nn
