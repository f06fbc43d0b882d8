// Rows of an image of floats in three parts each, as windows of a strip of columns meet them.
// Hides how columns of a stride are put apart, so that the tiles of neighbouring windows are whole.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/kernels/kernels.h"
#include "workloads/nn/products/bf16x3_axis.h"

namespace nn {

/// A row is words [steps][parts][rests][columns][16]: a step is a pair of blocks of 16 channels,
/// and columns are put apart by the rest that the axis's step leaves of them.
class Bf16x3Rows {
 public:
  static constexpr std::int64_t kBlock = 16;
  /// In place of a row beyond the image: zeros.
  static constexpr std::int64_t kBeyond = -1;
  /// Columns [first, first + count) of what is written.
  struct Columns {
    std::int64_t first = 0, count = 0;
  };
  /// Steps [first, first + count).
  struct Steps {
    std::int64_t first = 0, count = 0;
  };
  Bf16x3Rows() = default;
  /// Of an image [blocks][rows.from][columns.from][16].
  Bf16x3Rows(const Bf16x3Axis& rows, const Bf16x3Axis& columns, std::int64_t blocks);
  /// Strips are so many columns wide, at most.
  void set_strip(std::int64_t columns) { strip_ = columns; }

  /// Of a row in so many steps.
  std::int64_t words(std::int64_t steps) const { return steps * step_words(); }
  std::int64_t step_words() const { return Bf16x3Gemm::kParts * part_words(); }
  /// From a part to the next one.
  std::int64_t part_words() const {
    return static_cast<std::int64_t>(rests_.size()) * width() * kBlock;
  }
  /// Where a tap meets a row, behind its beginning.
  std::int64_t place_of(const Bf16x3Axis::Tap& tap) const;
  /// Brings what windows of these columns reach of a row, or of one beyond the image.
  void bring(const float* image, std::int64_t row, const Columns& columns, const Steps& steps,
             const Bf16x3Gemm& tiles, std::uint32_t* to) const;

 private:
  std::int64_t width() const { return strip_ + last_reach_ - first_reach_; }
  std::int64_t rows_ = 0, columns_ = 0, blocks_ = 0;  ///< of the image
  std::int64_t row_step_ = 1, step_ = 1;
  /// Of columns that are met, by the axis's step: rests; and of quotients the first and the last.
  std::vector<std::int64_t> rests_;
  std::int64_t first_reach_ = 0, last_reach_ = 0;
  std::int64_t strip_ = 0;
};

}  // namespace nn
