// PairGemm by the instruction that multiplies bf16 pairs. Compiled for AVX-512 BF16. Follows the
// rules of lanes.h.
#pragma once

#include "workloads/kernels/bf16_pairs.h"
#include "workloads/kernels/kernels.h"
#include "workloads/kernels/lanes.h"
#include "workloads/kernels/prefetch.h"

namespace nn {
namespace {

constexpr int kPairPanels = PairGemm::kPanels, kPairRows = 4;

/// Interleaves two rows, or one row and zeros, 16 columns at a time; the last columns may be fewer.
template <bool kBoth>
inline void pack_pair(const Bf16* lower, const Bf16* upper, std::int64_t columns,
                      std::uint32_t* pairs, std::int64_t stride) {
  for (std::int64_t column = 0; column < columns; column += kLanes, pairs += stride) {
    const std::int64_t left = columns - column;
    const auto mask = static_cast<__mmask16>(left < kLanes ? (1 << left) - 1 : 0xFFFF);
    const __m256i first = _mm256_maskz_loadu_epi16(mask, lower + column);
    const __m256i second =
        kBoth ? _mm256_maskz_loadu_epi16(mask, upper + column) : _mm256_setzero_si256();
    _mm512_storeu_si512(pairs, interleaved(first, second));
  }
}

/// Prefetch distance in elements, for contiguous pixels.
constexpr std::int64_t kPackAhead = 1024;

/// Packs adjacent pixels: one load per pair.
inline void pack_neighbours(const Bf16* from, std::int64_t count, std::uint32_t* pairs) {
  for (std::int64_t i = 0; i < count; ++i, from += 2 * kLanes, pairs += kLanes) {
    __builtin_prefetch(from + kPackAhead);
    _mm512_storeu_si512(pairs, interleaved(_mm512_loadu_si512(from)));
  }
}

/// Packs contiguous rows of 16 elements.
void pack_neighbours(const PairGemm::Rows& rows, std::uint32_t* pairs) {
  const std::int64_t count = rows.count / 2;
  pack_neighbours(rows.first, count, pairs);
  const Bf16* const from = rows.first + count * 2 * kLanes;
  pairs += count * kLanes;
  if (rows.count % 2 != 0) pack_pair<false>(from, nullptr, kLanes, pairs, kLanes);
}

/// Packs row by row, as a row's panels share cache lines.
void pack_rows(const PairGemm::Rows& rows, std::uint32_t* pairs, std::int64_t stride) {
  if (rows.stride == kLanes && rows.columns == kLanes) return pack_neighbours(rows, pairs);
  constexpr std::int64_t kRowsAhead = 16;
  const std::int64_t bytes = rows.columns * static_cast<std::int64_t>(sizeof(Bf16));
  const Bf16* from = rows.first;
  std::int64_t row = 0;
  for (; row + 2 <= rows.count; row += 2, from += 2 * rows.stride, pairs += kLanes) {
    if (row + kRowsAhead + 2 <= rows.count) {
      fetch(from + kRowsAhead * rows.stride, bytes);
      fetch(from + (kRowsAhead + 1) * rows.stride, bytes);
    }
    pack_pair<true>(from, from + rows.stride, rows.columns, pairs, stride);
  }
  if (row < rows.count) pack_pair<false>(from, nullptr, rows.columns, pairs, stride);
}

inline __m256i point_at(const Bf16* point) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(point));
}

inline __m256i point_or_zero(const PairGemm::Points& points, std::int64_t x) {
  const std::int64_t at = points.first + x * points.step;
  const bool is_there = x < points.count && at >= 0 && at < points.width;
  return is_there ? point_at(points.line + at * kLanes) : _mm256_setzero_si256();
}

/// The pair of pixels x and x + 1.
inline __m512i pair_of_points(const PairGemm::Points& points, std::int64_t x) {
  return interleaved(point_or_zero(points, x), point_or_zero(points, x + 1));
}

/// Pairs inside the image row need no bounds checks; adjacent pixels are one load.
void pack_points(const PairGemm::Points& points, std::uint32_t* pairs) {
  const std::int64_t step = points.step;
  const std::int64_t before = points.first < 0 ? (-points.first + step - 1) / step : 0;
  const std::int64_t met = points.width - points.first;  // pixels of the row from the first one on
  const std::int64_t there = met <= 0 ? 0 : (met + step - 1) / step;
  const std::int64_t end = there < points.count ? there : points.count;
  std::int64_t x = 0;
  for (; x < points.count && x < before; x += 2, pairs += kLanes) {
    _mm512_storeu_si512(pairs, pair_of_points(points, x));
  }
  const Bf16* from = points.line + (points.first + x * step) * kLanes;
  if (step == 1) {
    const std::int64_t count = x < end ? (end - x) / 2 : 0;
    pack_neighbours(from, count, pairs);
    x += 2 * count;
    pairs += count * kLanes;
  } else {
    for (; x + 1 < end; x += 2, pairs += kLanes, from += 2 * step * kLanes) {
      __builtin_prefetch(from + kPackAhead);
      __builtin_prefetch(from + kPackAhead + step * kLanes);
      _mm512_storeu_si512(pairs, interleaved(point_at(from), point_at(from + step * kLanes)));
    }
  }
  for (; x < points.count; x += 2, pairs += kLanes) {
    _mm512_storeu_si512(pairs, pair_of_points(points, x));
  }
}

/// Multiplies 4 of A's 16 rows, from `row` on, by all panels.
inline void multiply_pair_rows(const GemmOperands& of, const std::uint32_t* block,
                               const GemmSums& sums, bool add, int row) {
  float* const to = sums.first + row * sums.row;
  __m512 tile[kPairRows][kPairPanels];
#pragma GCC unroll 4
  for (int j = 0; j < kPairRows; ++j) {
#pragma GCC unroll 4
    for (int i = 0; i < kPairPanels; ++i) {
      tile[j][i] = add ? _mm512_loadu_ps(to + i * sums.panel + j * sums.row) : _mm512_setzero_ps();
    }
  }
  for (std::int64_t product = 0; product < of.batch; ++product) {
    const std::uint32_t* const a = block + of.offsets[product].a + row;
    const std::uint32_t* const b = of.b + of.offsets[product].b;
    for (std::int64_t k = 0; k < of.steps * kLanes; k += kLanes) {
      __m512bh columns[kPairPanels];
#pragma GCC unroll 4
      for (int i = 0; i < kPairPanels; ++i) columns[i] = pairs_at(b + i * of.b_panel + k);
#pragma GCC unroll 4
      for (int j = 0; j < kPairRows; ++j) {
        const __m512bh pair = pair_of(a[k + j]);
#pragma GCC unroll 4
        for (int i = 0; i < kPairPanels; ++i) {
          tile[j][i] = _mm512_dpbf16_ps(tile[j][i], columns[i], pair);
        }
      }
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < kPairRows; ++j) {
#pragma GCC unroll 4
    for (int i = 0; i < kPairPanels; ++i) {
      _mm512_storeu_ps(to + i * sums.panel + j * sums.row, tile[j][i]);
    }
  }
}

void multiply_pairs(const GemmOperands& of, const GemmSums& sums, bool add) {
  for (std::int64_t block = 0; block < of.blocks; ++block) {
    GemmSums to = sums;
    to.first += block * sums.block;
    for (int row = 0; row < kLanes; row += kPairRows) {
      multiply_pair_rows(of, of.a + block * of.a_block, to, add, row);
    }
  }
}

/// Hides the value from the optimiser, so that no computation of it is removed.
inline void keep(__m512& value) {
#if defined(__AVX512F__)
  asm volatile("" : "+v"(value));
#else
  asm volatile("" : "+m"(value));
#endif
}

/// Uses enough independent sums to keep the CPU's multiply pipelines full.
template <class Multiply>
void spend(std::int64_t instructions, const Multiply& multiply) {
  constexpr int kSums = 12;
  __m512 sums[kSums];
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  __m512 operand = _mm512_setzero_ps();
  for (std::int64_t i = 0; i < instructions; i += kSums) {
    keep(operand);
#pragma GCC unroll 12
    for (int j = 0; j < kSums; ++j) sums[j] = multiply(sums[j], operand);
  }
#pragma GCC unroll 12
  for (int j = 0; j < kSums; ++j) keep(sums[j]);
}

void spend_pairs(std::int64_t instructions) {
  spend(instructions, [](__m512 sum, __m512 operand) {
    const auto pairs = reinterpret_cast<__m512bh>(operand);
    return _mm512_dpbf16_ps(sum, pairs, pairs);
  });
}

void spend_floats(std::int64_t instructions) {
  spend(instructions,
        [](__m512 sum, __m512 operand) { return _mm512_fmadd_ps(operand, operand, sum); });
}

constexpr PairGemm kPairGemm = {pack_rows, pack_points, multiply_pairs, spend_pairs, spend_floats};

}  // namespace
}  // namespace nn
