// Sums over the rows of a pass, in pieces that do not depend on threads.
// Hides the order in which pieces are added.
#pragma once

#include <algorithm>
#include <cstdint>

namespace nn {

/// Rows whose sums are made in float, before those of all pieces are added in double.
inline constexpr std::int64_t kSumRows = 64;

constexpr std::int64_t sum_pieces(std::int64_t rows) { return (rows + kSumRows - 1) / kSumRows; }

/// Calls piece(first row, rows, sums of the piece [columns]) for each piece, on all threads, then
/// total [columns] = the sums of all. `sums` has room for [pieces, columns].
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
