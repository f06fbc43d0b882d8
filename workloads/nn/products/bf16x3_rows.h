// Rows of a float image in the bf16x3 split, laid out for the windows of a strip of columns.
// Hides that strided columns are grouped by remainder, so that neighbouring windows fill tiles.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/kernels/kernels.h"
#include "workloads/nn/products/bf16x3_axis.h"

namespace nn {

/// A row is bf16 pairs [steps][parts][rests][columns][16]. A step is a pair of blocks of 16
/// channels; a rest is the remainder of a column divided by the axis's step.
class Bf16x3Rows {
 public:
  static constexpr std::int64_t kBlock = 16;
  /// Index of any row outside the image; such a row is zeros.
  static constexpr std::int64_t kBeyond = -1;
  /// Written columns [first, first + count).
  struct Columns {
    std::int64_t first = 0, count = 0;
  };
  /// Steps [first, first + count).
  struct Steps {
    std::int64_t first = 0, count = 0;
  };
  Bf16x3Rows() = default;
  /// For an image [blocks][rows.from][columns.from][16].
  Bf16x3Rows(const Bf16x3Axis& rows, const Bf16x3Axis& columns, std::int64_t blocks);
  /// Sets the greatest width of a strip.
  void set_strip(std::int64_t columns) { strip_ = columns; }

  /// bf16 pairs of a row of `steps` steps.
  std::int64_t words(std::int64_t steps) const { return steps * step_words(); }
  std::int64_t step_words() const { return Bf16x3Gemm::kParts * part_words(); }
  /// bf16 pairs from one part to the next.
  std::int64_t part_words() const {
    return static_cast<std::int64_t>(remainders_.size()) * width() * kBlock;
  }
  /// Offset in a row of the pixels that `tap` reads, in bf16 pairs.
  std::int64_t place_of(const Bf16x3Axis::Tap& tap) const;
  /// Splits the pixels of a row that the windows of `columns` read; kBeyond gives zeros.
  void bring(const float* image, std::int64_t row, const Columns& columns, const Steps& steps,
             const Bf16x3Gemm& tiles, std::uint32_t* to) const;

 private:
  std::int64_t width() const { return strip_ + last_reach_ - first_reach_; }
  std::int64_t rows_ = 0, columns_ = 0, blocks_ = 0;  ///< of the image
  std::int64_t row_step_ = 1, step_ = 1;
  /// The taps' offsets divided by the axis's step: their remainders, and the first and last
  /// quotient.
  std::vector<std::int64_t> remainders_;
  std::int64_t first_reach_ = 0, last_reach_ = 0;
  std::int64_t strip_ = 0;
};

}  // namespace nn
