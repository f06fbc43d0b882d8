// Fourier transforms of many lines of complex numbers at once.
// Hides the order of the butterflies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace synthetic {

/// The elements of some lines, side by side: row r holds the r-th of each. Real and imaginary parts
/// lie apart.
struct LineRows {
  float *re, *im;
  std::size_t stride;  ///< from row to row
};

/// Transforms in place, in float. The bits depend on the numbers alone, and those of a line not on
/// its neighbours. Holds scratch memory: each thread needs its own.
class FourierLines {
 public:
  /// Of this many elements at most, and no prime factor above this.
  static constexpr std::int64_t kMostElements = 1 << 16, kMostFactor = 256;
  /// elements: of a line. lanes: of the lines that are transformed at once, a multiple of 4. Throws
  /// Error(kInternal) for what is not possible.
  FourierLines(std::int64_t elements, std::size_t lanes);
  /// y[k] = sum over x of e^(-2 pi i k x / N) rows[x]. With re and im exchanged i is -i: N times
  /// the inverse.
  void transform(const LineRows& rows);

 private:
  struct Factor {
    float re, im;
  };
  void pass(std::size_t radix, const LineRows& from, const LineRows& to, std::size_t step) const;
  /// Which rows: number `q` of the `step` sub-transforms that lie side by side from `row` on.
  struct Meeting {
    std::size_t row, q, step;
  };
  void any(std::size_t radix, const LineRows& from, const LineRows& to, std::size_t step) const;
  void any_rows(std::size_t radix, const LineRows& from, const LineRows& to,
                const Meeting& at) const;
  void quarter(const LineRows& from, const LineRows& to, std::size_t step) const;
  void halve(const LineRows& from, const LineRows& to, std::size_t step) const;

  std::size_t elements_, lanes_;
  std::vector<std::size_t> radices_;  ///< of the passes
  std::vector<Factor> factors_;       ///< [N]: e^(-2 pi i j / N)
  std::vector<float> rows_[4];
};

}  // namespace synthetic
