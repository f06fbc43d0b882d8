// Matrix products where one operand has few rows, in tiles whose sums stay in registers. Follows
// the rules of lanes.h.
#pragma once

#include "workloads/kernels/lanes.h"

namespace nn {
namespace {

#if defined(__AVX512F__)
constexpr int kMatrixTile = 4;
#else
constexpr int kMatrixTile = 2;  // for half as many registers of half the width
#endif

using MatrixSize = VectorGemm::Size;
using Factors = VectorGemm::Matrix<const float>;
using Results = VectorGemm::Matrix<float>;

/// Calls use(first, Count<n>()) for all of [0, count), where n is a tile's extent, or less at the
/// end.
template <class Use>
void for_each_group(std::int64_t count, const Use& use) {
  std::int64_t at = 0;
  for (; at + kMatrixTile <= count; at += kMatrixTile) use(at, Count<kMatrixTile>());
  for (; at + 2 <= count; at += 2) use(at, Count<2>());
  for (; at < count; ++at) use(at, Count<1>());
}

/// The sum of the lanes, by halves.
inline float halved_sum_of(Lanes value) {
  value +=
      __builtin_shufflevector(value, value, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  value +=
      __builtin_shufflevector(value, value, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
  value +=
      __builtin_shufflevector(value, value, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  return value[0] + value[1];
}

/// Copies the first `width` elements of kRows rows to `to`, padded with zeros to 16.
template <int kRows>
Factors with_zeros(Factors from, std::int64_t width, float* to) {
  for (int i = 0; i < kRows; ++i) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      to[i * kLanes + lane] = lane < width ? from.data[i * from.stride + lane] : 0.0F;
    }
  }
  return {to, kLanes};
}

/// The remainder of `depth` is padded and goes through the same instructions: compilers would round
/// the sums of products in other code differently.
template <int kRows, int kColumns>
void dots_of_tile(Factors a, Factors b, std::int64_t depth, Results c) {
  float last[(kRows + kColumns) * kLanes];
  Lanes sums[kRows][kColumns] = {};
  for (; depth > 0; depth -= kLanes, a.data += kLanes, b.data += kLanes) {
    if (depth < kLanes) {
      a = with_zeros<kRows>(a, depth, last);
      b = with_zeros<kColumns>(b, depth, last + kRows * kLanes);
    }
    Lanes left[kRows];
    for (int i = 0; i < kRows; ++i) left[i] = Full::load(a.data + i * a.stride, kLanes);
    for (int j = 0; j < kColumns; ++j) {
      const Lanes right = load_on_way<Full>(b.data + j * b.stride, kLanes);
      for (int i = 0; i < kRows; ++i) sums[i][j] += left[i] * right;
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      c.data[i * c.stride + j] = halved_sum_of(sums[i][j]);
    }
  }
}

/// Multiplies a tile of b by all of a before the next tile comes from memory.
inline void matrix_dots(const MatrixSize& size, Factors a, Factors b, Results c) {
  for_each_group(size.columns, [&](std::int64_t column, auto columns) {
    for_each_group(size.rows, [&](std::int64_t row, auto rows) {
      dots_of_tile<rows.kCount, columns.kCount>({a.data + row * a.stride, a.stride},
                                                {b.data + column * b.stride, b.stride}, size.depth,
                                                {c.data + row * c.stride + column, c.stride});
    });
  });
}

/// A tile of kVectors * 16 columns, or of `width` columns.
template <int kRows, int kVectors, class Access>
void combine_tile(Factors a, std::int64_t a_step, Factors b, std::int64_t depth, Results c,
                  bool add, int width) {
  constexpr std::int64_t kAheadRows = 8;
  Lanes sums[kRows][kVectors] = {};
  if (add) {
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kVectors; ++j) {
        sums[i][j] = Access::load(c.data + i * c.stride + j * kLanes, width);
      }
    }
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const float* const from = b.data + k * b.stride;
    Lanes right[kVectors];
    for (int j = 0; j < kVectors; ++j) {
      __builtin_prefetch(from + kAheadRows * b.stride + j * kLanes);
      right[j] = Access::load(from + j * kLanes, width);
    }
    for (int i = 0; i < kRows; ++i) {
      const float left = a.data[i * a.stride + k * a_step];
      for (int j = 0; j < kVectors; ++j) sums[i][j] += right[j] * left;
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kVectors; ++j) {
      Access::store(c.data + i * c.stride + j * kLanes, sums[i][j], width);
    }
  }
}

/// Calls use(access, Count<vectors>(), place, width) for all of [0, count).
template <class Use>
void for_each_vectors(std::int64_t count, const Use& use) {
  constexpr std::int64_t kTogether = kMatrixTile * kLanes;
  std::int64_t at = 0;
  for (; at + kTogether <= count; at += kTogether) use(Full(), Count<kMatrixTile>(), at, kLanes);
  for_each_piece(count - at, [&](auto access, std::int64_t place, int width) {
    use(access, Count<1>(), at + place, width);
  });
}

/// Works in strips of columns, so that a strip of b stays in the L2 cache while it is multiplied by
/// all of a. If b has few rows, strips are long so that accesses to c are, too.
inline void combine_strips(const MatrixSize& size, Factors a, std::int64_t a_step, Factors b,
                           Results c, bool add) {
  constexpr std::int64_t kStripNumbers = 32 << 10, kLeast = kMatrixTile * kLanes, kMost = 4096;
  const std::int64_t fitting = size.depth > 0 ? kStripNumbers / size.depth : kMost;
  const std::int64_t strip =
      fitting < kLeast ? kLeast : (fitting < kMost ? fitting / kLeast * kLeast : kMost);
  for (std::int64_t first = 0; first < size.columns; first += strip) {
    const std::int64_t count = size.columns - first < strip ? size.columns - first : strip;
    for_each_group(size.rows, [&](std::int64_t row, auto rows) {
      for_each_vectors(count, [&](auto access, auto vectors, std::int64_t at, int width) {
        combine_tile<rows.kCount, vectors.kCount, decltype(access)>(
            {a.data + row * a.stride, a.stride}, a_step, {b.data + first + at, b.stride},
            size.depth, {c.data + row * c.stride + first + at, c.stride}, add, width);
      });
    });
  }
}

/// If a is one tile high, b is read once, in whole rows, which are long sequential reads; the sums
/// wait in c for the next rows.
inline void matrix_combine(const MatrixSize& size, Factors a, std::int64_t a_step, Factors b,
                           Results c) {
  constexpr std::int64_t kRowsOfB = 16;
  if (size.rows > kMatrixTile || size.depth <= kRowsOfB) {
    return combine_strips(size, a, a_step, b, c, false);
  }
  for (std::int64_t k = 0; k < size.depth; k += kRowsOfB) {
    const std::int64_t depth = size.depth - k < kRowsOfB ? size.depth - k : kRowsOfB;
    combine_strips({size.rows, size.columns, depth}, {a.data + k * a_step, a.stride}, a_step,
                   {b.data + k * b.stride, b.stride}, c, k > 0);
  }
}

constexpr VectorGemm kVectorGemm = {matrix_dots, matrix_combine};

}  // namespace
}  // namespace nn
