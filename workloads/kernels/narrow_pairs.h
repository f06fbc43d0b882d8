// Narrow products of pairs of bfloat16 numbers. As narrow_body.h, whose tiles these are, but for
// avx512 with bfloat16.
// Hides the instructions.
#pragma once

#include "workloads/kernels/bf16_pairs.h"
#include "workloads/kernels/narrow_body.h"

namespace nn {
namespace {

inline void add_pair(Lanes& sum, __m512bh left, __m512bh right) {
  sum = reinterpret_cast<Lanes>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), left, right));
}

template <int kPoints>
void multiply_pairs(const Bf16* src, const Bf16* weights, const NarrowShape& shape,
                    float* products) {
  Lanes sums[kPoints][kNarrowVectors] = {};
  for (std::int64_t block = 0; block < shape.blocks; ++block) {
    const Bf16* const values = src + block * shape.block_stride;
    for (int point = 0; point < kPoints; point += 2) {
      __builtin_prefetch(reinterpret_cast<const char*>(values + point * kLanes) + kAheadBytes);
    }
    for (int pair = 0; pair < kLanes; pair += 2) {
      const __m512bh first = pairs_at(weights), second = pairs_at(weights + 2 * kLanes);
      weights += 2 * NarrowShape::kPlaces;
#pragma GCC unroll 14
      for (int point = 0; point < kPoints; ++point) {
        const __m512bh value = pair_at(values + point * kLanes + pair);
        add_pair(sums[point][0], first, value);
        add_pair(sums[point][1], second, value);
      }
    }
  }
#pragma GCC unroll 14
  for (int point = 0; point < kPoints; ++point) {
    Full::store(products + point * NarrowShape::kPlaces, sums[point][0], kLanes);
    Full::store(products + point * NarrowShape::kPlaces + kLanes, sums[point][1], kLanes);
  }
}

inline void narrow_forward_pairs(const Bf16* src, const Bf16* weights, const NarrowShape& shape,
                                 std::int64_t points, float* products) {
  for_each_tile(points, [&](auto count, std::int64_t point) {
    multiply_pairs<decltype(count)::kCount>(src + point * kLanes, weights, shape,
                                            products + point * NarrowShape::kPlaces);
  });
}

constexpr std::int64_t kBlockWeights = NarrowShape::kPlaces * kLanes;

/// Of kBlocks neighbouring blocks.
template <class Access, int kPoints, int kBlocks>
void multiply_pairs_back(const Bf16* diff_products, const Bf16* weights, const NarrowShape& shape,
                         Bf16* diff_src) {
  const std::int64_t pairs = (shape.outputs + 1) / 2;
  Lanes sums[kPoints][kBlocks] = {};
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    __m512bh columns[kBlocks];
#pragma GCC unroll 2
    for (int block = 0; block < kBlocks; ++block) {
      columns[block] = pairs_at(weights + block * kBlockWeights + pair * 2 * kLanes);
    }
#pragma GCC unroll 14
    for (int point = 0; point < kPoints; ++point) {
      const __m512bh value = pair_at(diff_products + point * NarrowShape::kPlaces + 2 * pair);
#pragma GCC unroll 2
      for (int block = 0; block < kBlocks; ++block) {
        add_pair(sums[point][block], columns[block], value);
      }
    }
  }
#pragma GCC unroll 2
  for (int block = 0; block < kBlocks; ++block) {
#pragma GCC unroll 14
    for (int point = 0; point < kPoints; ++point) {
      Access::store(diff_src + block * shape.block_stride + point * kLanes, sums[point][block],
                    kLanes);
    }
  }
}

template <class Access>
void narrow_source_gradient_pairs_by(const Bf16* diff_products, const Bf16* weights,
                                     const NarrowShape& shape, std::int64_t points,
                                     Bf16* diff_src) {
  for_each_tile(points, [&](auto count, std::int64_t point) {
    constexpr int kPoints = decltype(count)::kCount;
    const Bf16* const from = diff_products + point * NarrowShape::kPlaces;
    Bf16* const to = diff_src + point * kLanes;
    std::int64_t block = 0;
    for (; block + kNarrowVectors <= shape.blocks; block += kNarrowVectors) {
      multiply_pairs_back<Access, kPoints, kNarrowVectors>(from, weights + block * kBlockWeights,
                                                           shape, to + block * shape.block_stride);
    }
    if (block == shape.blocks) return;
    multiply_pairs_back<Access, kPoints, 1>(from, weights + block * kBlockWeights, shape,
                                            to + block * shape.block_stride);
  });
}

inline void narrow_source_gradient_pairs(const Bf16* diff_products, const Bf16* weights,
                                         const NarrowShape& shape, std::int64_t points,
                                         Bf16* diff_src) {
  if (!can_stream_narrow(shape, diff_src)) {
    return narrow_source_gradient_pairs_by<Full>(diff_products, weights, shape, points, diff_src);
  }
  narrow_source_gradient_pairs_by<Streamed>(diff_products, weights, shape, points, diff_src);
  finish_streams();
}

/// Points that are multiplied while what their pairs are made of is in the nearest cache.
constexpr std::int64_t kPairedPoints = 64;

/// Rows of two neighbouring points side by side; behind an odd one, zeros.
inline void pair_gradients(const Bf16* diff_products, std::int64_t points, std::uint32_t* pairs) {
  for (std::int64_t point = 0; point < points; point += 2) {
    for (int half = 0; half < kNarrowVectors; ++half, pairs += kLanes) {
      const Bf16* const lower = diff_products + point * NarrowShape::kPlaces + half * kLanes;
      const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lower));
      const __m256i second =
          point + 1 < points
              ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lower + NarrowShape::kPlaces))
              : _mm256_setzero_si256();
      _mm512_storeu_si512(pairs, interleaved(first, second));
    }
  }
}

/// Of kNarrowTile outputs, whose first pair of gradients is at `pairs`.
template <int kBlocks>
void add_tile_pairs(const Bf16* src, const std::uint32_t* pairs, const NarrowShape& shape,
                    std::int64_t points, float* sums) {
  Lanes tile[kNarrowTile][kBlocks] = {};
  for (std::int64_t point = 0; point < points; point += 2, pairs += NarrowShape::kPlaces) {
    __m512bh columns[kBlocks];
#pragma GCC unroll 2
    for (int block = 0; block < kBlocks; ++block) {
      const Bf16* const from = src + block * shape.block_stride + point * kLanes;
      __builtin_prefetch(reinterpret_cast<const char*>(from) + kAheadBytes);
      const __m512i both = point + 1 < points
                               ? _mm512_loadu_si512(from)
                               : _mm512_maskz_loadu_epi16(static_cast<__mmask32>(0xFFFF), from);
      columns[block] = reinterpret_cast<__m512bh>(interleaved(both));
    }
#pragma GCC unroll 14
    for (int output = 0; output < kNarrowTile; ++output) {
      const __m512bh gradient = pair_of(pairs[output]);
#pragma GCC unroll 2
      for (int block = 0; block < kBlocks; ++block) {
        add_pair(tile[output][block], columns[block], gradient);
      }
    }
  }
#pragma GCC unroll 2
  for (int block = 0; block < kBlocks; ++block) {
#pragma GCC unroll 14
    for (int output = 0; output < kNarrowTile; ++output) {
      float* const to = sums + (block * NarrowShape::kPlaces + output) * kLanes;
      Full::store(to, Full::load(to, kLanes) + tile[output][block], kLanes);
    }
  }
}

template <int kBlocks>
void add_pairs_of(const Bf16* src, const std::uint32_t* pairs, const NarrowShape& shape,
                  std::int64_t points, float* sums) {
  add_tile_pairs<kBlocks>(src, pairs, shape, points, sums);
  if (shape.outputs <= kNarrowTile) return;
  add_tile_pairs<kBlocks>(src, pairs + kNarrowTile, shape, points, sums + kNarrowTile * kLanes);
}

inline void narrow_weights_gradient_pairs(const Bf16* src, const Bf16* diff_products,
                                          const NarrowShape& shape, std::int64_t points,
                                          float* sums) {
  std::uint32_t pairs[kPairedPoints / 2 * NarrowShape::kPlaces];
  for (std::int64_t first = 0; first < points; first += kPairedPoints) {
    const std::int64_t count = points - first < kPairedPoints ? points - first : kPairedPoints;
    pair_gradients(diff_products + first * NarrowShape::kPlaces, count, pairs);
    const Bf16* const from = src + first * kLanes;
    const auto sums_of = [&](std::int64_t block) {
      return sums + block * NarrowShape::kPlaces * kLanes;
    };
    std::int64_t block = 0;
    for (; block + kNarrowVectors <= shape.blocks; block += kNarrowVectors) {
      add_pairs_of<kNarrowVectors>(from + block * shape.block_stride, pairs, shape, count,
                                   sums_of(block));
    }
    if (block == shape.blocks) continue;
    add_pairs_of<1>(from + block * shape.block_stride, pairs, shape, count, sums_of(block));
  }
}

}  // namespace
}  // namespace nn
