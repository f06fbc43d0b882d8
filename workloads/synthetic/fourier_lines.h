// One-dimensional Fourier transforms of many lines of complex numbers at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace synthetic {

/// The elements of several lines, interleaved: row r holds element r of each line. Real and
/// imaginary parts are in separate arrays.
struct LineRows {
  float *re, *im;
  std::size_t stride;  ///< floats from one row to the next
};

/// Transforms in place, in float. The result's bits depend only on the input, and those of a line
/// not on the other lines. Holds scratch memory: each thread needs its own.
class FourierLines {
 public:
  /// Limits of a line's elements and of their prime factors.
  static constexpr std::int64_t kMostElements = 1 << 16, kMostFactor = 256;
  /// elements: of a line. lanes: the number of lines transformed at once, a multiple of 4. Throws
  /// Error(kInternal) for unsupported values.
  FourierLines(std::int64_t elements, std::size_t lanes);
  /// y[k] = sum over x of e^(-2 pi i k x / N) rows[x]. Exchanging re and im replaces i by -i, which
  /// gives N times the inverse.
  void transform(const LineRows& rows);

 private:
  struct Factor {
    float re, im;
  };
  void pass(std::size_t radix, const LineRows& from, const LineRows& to, std::size_t step) const;
  /// The rows of one butterfly: element `q` of the `step` interleaved sub-transforms that begin at
  /// `row`.
  struct Meeting {
    std::size_t row, q, step;
  };
  void any(std::size_t radix, const LineRows& from, const LineRows& to, std::size_t step) const;
  void any_rows(std::size_t radix, const LineRows& from, const LineRows& to,
                const Meeting& at) const;
  void quarter(const LineRows& from, const LineRows& to, std::size_t step) const;
  void halve(const LineRows& from, const LineRows& to, std::size_t step) const;

  std::size_t elements_, lanes_;
  std::vector<std::size_t> radices_;  ///< radix of each pass
  std::vector<Factor> factors_;       ///< [N]: e^(-2 pi i j / N)
  std::vector<float> rows_[4];
};

}  // namespace synthetic
