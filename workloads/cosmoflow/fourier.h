// Fourier transforms of a cube of complex numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/synthetic/fourier_lines.h"

namespace cosmoflow {

/// Complex numbers [N, N, N], the last index contiguous, with separate real and imaginary arrays.
struct ComplexCube {
  explicit ComplexCube(std::int64_t cells);
  std::vector<float> re, im;
};

/// Transforms all three axes in place, in float. The result's bits depend only on the input. Holds
/// scratch memory: each thread needs its own.
class Fourier {
 public:
  static constexpr std::int64_t kLeastCells = 8, kMostCells = 512;
  /// cells: N, a power of 2 from kLeastCells to kMostCells; otherwise throws Error(kInternal).
  explicit Fourier(std::int64_t cells);
  std::int64_t cells() const { return static_cast<std::int64_t>(cells_); }
  /// y[k] = sum over x of e^(-2 pi i k.x / N) cube[x].
  void forward(ComplexCube& cube);
  /// y[x] = sum over k of e^(+2 pi i k.x / N) cube[k]: N^3 times the inverse of forward().
  void inverse(ComplexCube& cube);

 private:
  void transform(float* re, float* im);
  void transpose(const float* from, float* to) const;

  std::size_t cells_, lanes_;
  synthetic::FourierLines lines_;
  std::vector<float> plane_re_, plane_im_;
};

}  // namespace cosmoflow
