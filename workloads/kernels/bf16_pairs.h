// Bf16 pairs in the order in which the CPU multiplies them. Compiled for AVX-512 BF16. Follows the
// rules of lanes.h.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstdint>

namespace nn {
namespace {

// Intrinsics are masked with all lanes set: GCC 12 warns about the undefined values that the
// unmasked forms start from.

/// Elements (a0 .. a15, b0 .. b15) become (a0, b0, a1, b1 ...).
inline __m512i interleaved(__m512i both) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_maskz_permutexvar_epi16(~__mmask32{0}, order, both);
}

inline __m512i interleaved(__m256i lower, __m256i upper) {
  const __m512i first = _mm512_maskz_inserti64x4(0xFF, _mm512_setzero_si512(), lower, 0);
  return interleaved(_mm512_maskz_inserti64x4(0xFF, first, upper, 1));
}

inline __m512bh pair_of(std::uint32_t word) {
  return reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(word)));
}

/// The pair at `numbers`, broadcast to every lane.
inline __m512bh pair_at(const void* numbers) {
  std::uint32_t word = 0;
  __builtin_memcpy(&word, numbers, sizeof word);
  return pair_of(word);
}

inline __m512bh pairs_at(const void* numbers) {
  return reinterpret_cast<__m512bh>(_mm512_loadu_si512(numbers));
}

}  // namespace
}  // namespace nn
