// Scans of ids, and rows of random numbers. Follows the rules of lanes.h.
#pragma once

#include "workloads/kernels/lanes.h"

namespace nn {
namespace {

/// Selects all lookups, bag by bag.
inline std::int64_t select_all(const std::int32_t* ids, const std::int64_t* offsets,
                               std::int64_t first, std::int64_t last, std::int64_t* bag,
                               Lookup* to) {
  std::int64_t at = first;
  std::int64_t n = *bag;
  while (at < last) {
    while (offsets[n + 1] <= at) ++n;
    const std::int64_t end = offsets[n + 1] < last ? offsets[n + 1] : last;
    for (; at < end; ++at) *to++ = {ids[at], static_cast<std::int32_t>(n)};
  }
  *bag = n;
  return last - first;
}

std::int64_t select(const std::int32_t* ids, const std::int64_t* offsets, std::int64_t first,
                    std::int64_t last, std::int64_t* bag, const RowShare& share, Lookup* to) {
  if (share.mask == 0) return select_all(ids, offsets, first, last, bag, to);
  std::int64_t found = 0;
  std::int64_t n = *bag;
  std::int64_t at = first;
  const auto add = [&](std::int64_t position, std::int32_t id) {
    while (offsets[n + 1] <= position) ++n;
    to[found++] = {id, static_cast<std::int32_t>(n)};
  };
#if defined(__AVX512F__)
  const __m512i mask = _mm512_set1_epi32(static_cast<int>(share.mask));
  const __m512i part = _mm512_set1_epi32(static_cast<int>(share.part));
  const __m512i places = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  for (; at + kLanes <= last; at += kLanes) {
    const __m512i all = _mm512_loadu_si512(ids + at);
    const __mmask16 mine = _mm512_cmpeq_epi32_mask(_mm512_and_si512(all, mask), part);
    std::int32_t place[kLanes], id[kLanes];
    _mm512_storeu_si512(place, _mm512_maskz_compress_epi32(mine, places));
    _mm512_storeu_si512(id, _mm512_maskz_compress_epi32(mine, all));
    const int count = __builtin_popcount(mine);
    for (int i = 0; i < count; ++i) add(at + place[i], id[i]);
  }
#endif
  for (; at < last; ++at) {
    if ((static_cast<std::uint32_t>(ids[at]) & share.mask) == share.part) add(at, ids[at]);
  }
  *bag = n;
  return found;
}

std::int64_t first_outside(const std::int32_t* ids, std::int64_t count, std::int32_t rows) {
  constexpr std::int64_t kBlock = 1024;
  const auto limit = static_cast<std::uint32_t>(rows);
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t end = begin + kBlock < count ? begin + kBlock : count;
    std::uint32_t outside = 0;
    // As unsigned, a negative id is a large one.
    for (std::int64_t i = begin; i < end; ++i) {
      outside |= static_cast<std::uint32_t>(static_cast<std::uint32_t>(ids[i]) >= limit);
    }
    if (outside == 0) continue;
    for (std::int64_t i = begin;; ++i) {
      if (static_cast<std::uint32_t>(ids[i]) >= limit) return i;
    }
  }
  return count;
}

using Wides = std::uint64_t __attribute__((vector_size(64)));
using Signed = std::int32_t __attribute__((vector_size(64)));

/// The 64-bit products of the lower words of each pair of 32-bit words.
inline Wides product_of_lower(const Wides& words, const Wides& by) {
#if defined(__AVX512F__)
  // Masked with all lanes set: GCC 12 warns about the undefined value that the unmasked form starts
  // from.
  return reinterpret_cast<Wides>(_mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(words),
                                                        reinterpret_cast<__m512i>(by)));
#elif defined(__SSE2__)
  Wides products;
  for (int quarter = 0; quarter < 4; ++quarter) {
    __m128i a, b;
    __builtin_memcpy(&a, reinterpret_cast<const char*>(&words) + quarter * 16, sizeof a);
    __builtin_memcpy(&b, reinterpret_cast<const char*>(&by) + quarter * 16, sizeof b);
    a = _mm_mul_epu32(a, b);
    __builtin_memcpy(reinterpret_cast<char*>(&products) + quarter * 16, &a, sizeof a);
  }
  return products;
#else
  constexpr std::uint64_t kLowerWord = 0xFFFFFFFFu;
  return (words & kLowerWord) * (by & kLowerWord);
#endif
}

struct Product {
  Words upper, lower;
};

inline Product product_of(const Words& words, std::uint32_t by) {
  constexpr std::uint64_t kLower = 0xFFFFFFFFu;
  const Wides factor = Wides{} + by;
  const Wides wide = reinterpret_cast<Wides>(words);
  const Wides even = product_of_lower(wide, factor);
  const Wides odd = product_of_lower(wide >> 32, factor);
  return {reinterpret_cast<Words>(even >> 32 | (odd & ~kLower)),
          reinterpret_cast<Words>((even & kLower) | odd << 32)};
}

/// Philox4x32-10 (Salmon et al., SC11) on 16 counters at a time; block [4] is counter, then result.
inline void philox(Words (&block)[4], std::uint64_t key) {
  constexpr int kRounds = 10;
  constexpr std::uint32_t kMultiplier[2] = {0xD2511F53u, 0xCD9E8D57u};
  constexpr std::uint32_t kWeyl[2] = {0x9E3779B9u, 0xBB67AE85u};
  std::uint32_t round_key[2] = {static_cast<std::uint32_t>(key),
                                static_cast<std::uint32_t>(key >> 32)};
  for (int round = 0; round < kRounds; ++round) {
    const Product first = product_of(block[0], kMultiplier[0]);
    const Product second = product_of(block[2], kMultiplier[1]);
    block[0] = second.upper ^ block[1] ^ round_key[0];
    block[1] = second.lower;
    block[2] = first.upper ^ block[3] ^ round_key[1];
    block[3] = first.lower;
    round_key[0] += kWeyl[0];
    round_key[1] += kWeyl[1];
  }
}

void uniform_row(std::uint64_t key, std::uint32_t row, std::int64_t first, std::int64_t count,
                 float bound, float* to) {
  constexpr std::int64_t kGroup = 4 * kLanes;
  constexpr float kUnit = 0x1p-24F;
  const Words places = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const std::int64_t end = first + count;
  for (std::int64_t group = first / kGroup; group * kGroup < end; ++group) {
    Words block[4] = {places + static_cast<std::uint32_t>(group * kLanes), Words{} + row, Words{},
                      Words{}};
    philox(block, key);
    for (int word = 0; word < 4; ++word) {
      const std::int64_t column = group * kGroup + word * kLanes;
      // An odd number of magnitude below 2^24 is exact in float: only the product rounds.
      const Signed odd = (reinterpret_cast<Signed>(block[word]) >> 8) * 2 + 1;
      const Lanes value = __builtin_convertvector(odd, Lanes) * (bound * kUnit);
      if (column >= first && column + kLanes <= end) {
        Full::store(to + (column - first), value, kLanes);
        continue;
      }
      for (int lane = 0; lane < kLanes; ++lane) {
        if (column + lane >= first && column + lane < end) to[column + lane - first] = value[lane];
      }
    }
  }
}

}  // namespace
}  // namespace nn
