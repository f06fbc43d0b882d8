// Sums over the rows of a pass, in pieces that do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runner/base/ceil_div.h"

namespace nn {

/// Rows of a piece: they are summed in float, and the sums of all pieces in double.
inline constexpr std::int64_t kSumRows = 64;

constexpr std::int64_t sum_pieces(std::int64_t rows) { return base::ceil_div(rows, kSumRows); }

/// Calls piece(first row, rows, sums of the piece [columns]) for each piece, on all threads, then
/// writes the sums of all pieces to total [columns]. `sums` has room for [pieces, columns].
template <class Piece>
void sum_over_rows(std::int64_t rows, std::int64_t columns, float* sums, float* total,
                   const Piece& piece) {
  const std::int64_t pieces = sum_pieces(rows);
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (std::int64_t i = 0; i < pieces; ++i) {
      const std::int64_t first = i * kSumRows;
      piece(first, std::min(kSumRows, rows - first), sums + i * columns);
    }
#pragma omp for schedule(static)
    for (std::int64_t column = 0; column < columns; ++column) {
      double sum = 0.0;
      for (std::int64_t i = 0; i < pieces; ++i)
        sum += static_cast<double>(sums[i * columns + column]);
      total[column] = static_cast<float>(sum);
    }
  }
}

}  // namespace nn
