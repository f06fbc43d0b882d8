// Transposition of tiles of 16 x 16 lanes, and reordering of tiles of weights. Follows the rules of
// lanes.h.
#pragma once

#include "workloads/kernels/lanes.h"

namespace nn {
namespace {

/// Alternate the even-numbered, or the odd-numbered, groups of S lanes of a and b.
template <int S, class Vector>
Vector even_groups(const Vector& a, const Vector& b) {
  if constexpr (S == 1) {
    return __builtin_shufflevector(a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30);
  } else if constexpr (S == 2) {
    return __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
  } else if constexpr (S == 4) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
  } else {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  }
}
template <int S, class Vector>
Vector odd_groups(const Vector& a, const Vector& b) {
  if constexpr (S == 1) {
    return __builtin_shufflevector(a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31);
  } else if constexpr (S == 2) {
    return __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30,
                                   31);
  } else if constexpr (S == 4) {
    return __builtin_shufflevector(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30,
                                   31);
  } else {
    return __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30,
                                   31);
  }
}

/// One round of a transposition: swaps groups of S lanes between rows whose indices differ by S.
template <int S, int kRows, class Vector>
void swap_groups(Vector* rows) {
  for (int row = 0; row < kRows; ++row) {
    if ((row & S) != 0) continue;
    const Vector even = even_groups<S>(rows[row], rows[row + S]);
    rows[row + S] = odd_groups<S>(rows[row], rows[row + S]);
    rows[row] = even;
  }
}

/// Transposes 16 vectors in place.
template <class Vector>
void transpose_lanes(Vector* rows) {
  swap_groups<8, kLanes>(rows);
  swap_groups<4, kLanes>(rows);
  swap_groups<2, kLanes>(rows);
  swap_groups<1, kLanes>(rows);
}

inline void transpose_tile(const float* tile, float* to) {
  Lanes rows[kLanes];
  for (int row = 0; row < kLanes; ++row) rows[row] = Full::load(tile + row * kLanes, kLanes);
  transpose_lanes(rows);
  for (int row = 0; row < kLanes; ++row) Full::store(to + row * kLanes, rows[row], kLanes);
}

inline void pair_rows_of_tile(const float* tile, std::int64_t rows, std::int64_t columns, Bf16* to,
                              std::int64_t stride) {
  for (std::int64_t row = 0; row < rows; row += 2) {
    const float* const from = tile + row * columns;
    for (std::int64_t at = 0; at < columns; at += kLanes) {
      const Lanes lower = Full::load(from + at, kLanes);
      const Lanes upper = row + 1 < rows ? Full::load(from + columns + at, kLanes) : zero();
      const Words pairs = words_of(rounded(lower)) | words_of(rounded(upper)) << 16;
      __builtin_memcpy(to + row / 2 * stride + 2 * at, &pairs, sizeof pairs);
    }
  }
}

/// Rows k and k + 8 are the halves of one vector of pairs; transposition is within the halves.
inline void pair_columns_of_tile(const float* tile, Bf16* to, std::int64_t stride) {
  constexpr int kHalf = kLanes / 2;
  Words pairs[kHalf];
  for (int row = 0; row < kHalf; ++row) {
    const Halves halves[2] = {rounded(Full::load(tile + row * kLanes, kLanes)),
                              rounded(Full::load(tile + (row + kHalf) * kLanes, kLanes))};
    __builtin_memcpy(&pairs[row], halves, sizeof halves);
  }
  swap_groups<4, kHalf>(pairs);
  swap_groups<2, kHalf>(pairs);
  swap_groups<1, kHalf>(pairs);
  for (int pair = 0; pair < kHalf; ++pair) {
    __builtin_memcpy(to + pair * stride, &pairs[pair], sizeof pairs[pair]);
  }
}

}  // namespace
}  // namespace nn
