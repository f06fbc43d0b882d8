// Products of windows of images in bfloat16, whose channels are last, in the CPU's matrix tiles,
// where the windows stand.
// Hides edges.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/kernels/kernels.h"
#include "workloads/nn/products/window_shape.h"

namespace nn {

class ImageWindows {
 public:
  /// Whether rows of windows are whole tiles' rows, or halves of them, and there are enough windows
  /// of a row.
  static bool fits(const WindowShape& shape);
  /// Of `shape`, `from` being the image.
  ImageWindows(const WindowShape& shape, const Kernels& kernels);
  /// Rows [first, end) of what windows are multiplied to.
  struct Rows {
    std::int64_t first = 0, end = 0;
  };
  /// Numbers [first, end) of a window's row.
  struct Numbers {
    std::int64_t first = 0, end = 0;
  };
  /// Those of a part of weights.
  Numbers numbers_of(std::int64_t part) const;
  /// dst [rows][columns][out] = the products of these of an image and of weights
  /// [lines][parts][out / 16] of tiles, as Bf16Tiles::Windows has them. Few rows, at best 16: those
  /// beside the image are copied, and multiplied together.
  void multiply(const Bf16* image, const Rows& rows, const std::uint32_t* weights, Stores stores,
                Bf16* dst) const;

 private:
  std::int64_t row_numbers() const { return shape_.columns.kernel * shape_.in; }
  std::int64_t parts() const { return (row_numbers() + Bf16Tiles::kRows - 1) / Bf16Tiles::kRows; }
  Bf16Tiles::Windows windows_of(std::int64_t lines, Stores stores) const;
  void multiply_inner(const Bf16* image, std::int64_t row, const std::uint32_t* weights,
                      Stores stores, Bf16* dst) const;
  void multiply_edge(const Bf16* image, const Rows& rows, std::int64_t point,
                     const std::uint32_t* weights, Stores stores, Bf16* dst) const;

  WindowShape shape_;
  const Kernels* kernels_;
  /// Whether lines of memory begin where half a tile's row of a window has been read.
  bool is_half_first_ = false;
  std::int64_t first_ = 0, end_ = 0;  ///< windows of a row that stand within the image
};

}  // namespace nn
