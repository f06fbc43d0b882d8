// Fourier transforms of a cube of complex numbers.
// Hides the order of the butterflies and that many lines are transformed at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cosmoflow {

/// Complex numbers [N, N, N], the last index contiguous; real and imaginary parts lie apart.
struct ComplexCube {
  explicit ComplexCube(std::int64_t cells);
  std::vector<float> re, im;
};

/// Transforms in place, all three axes, in float. The bits depend on the numbers alone. Holds
/// scratch memory: each thread needs its own.
class Fourier {
 public:
  static constexpr std::int64_t kLeastCells = 8, kMostCells = 512;
  /// cells: N, a power of 2 from kLeastCells to kMostCells, else throws Error(kInternal).
  explicit Fourier(std::int64_t cells);
  std::int64_t cells() const { return static_cast<std::int64_t>(cells_); }
  /// y[k] = sum over x of e^(-2 pi i k.x / N) cube[x].
  void forward(ComplexCube& cube);
  /// y[x] = sum over k of e^(+2 pi i k.x / N) cube[k]: N^3 times the inverse of forward().
  void inverse(ComplexCube& cube);

 private:
  /// The elements of some lines, side by side: row r holds the r-th of each.
  struct Rows {
    float *re, *im;
    std::size_t stride;  ///< from row to row
  };
  struct Factor {
    float re, im;
  };
  void transform(float* re, float* im);
  void transform_rows(const Rows& rows);
  void quarter(const Rows& from, const Rows& to, std::size_t step) const;
  void halve(const Rows& from, const Rows& to, std::size_t step) const;
  void transpose(const float* from, float* to) const;

  std::size_t cells_, lanes_;
  std::vector<Factor> factors_;  ///< [N]: e^(-2 pi i j / N)
  std::vector<float> plane_re_, plane_im_;
  std::vector<float> rows_[4];
};

}  // namespace cosmoflow
