// Which points meet in a convolution of images, for gradients of its weights.
// Hides nothing.
#pragma once

#include <cstdint>

namespace nn {

/// Windows along an axis.
struct WindowAxis {
  std::int64_t from = 1, to = 1;  ///< points
  std::int64_t kernel = 1, stride = 1, padding = 0;
};

/// Each point of `to` is beside the point of `from` that its window's tap meets. Of a convolution
/// `from` is its source and `to` the gradient of its destination; of a transposed one `from` is
/// that gradient, and `to` the source.
struct WindowShape {
  WindowAxis rows, columns;
  std::int64_t in = 0, out = 0;  ///< channels of `from` and of `to`
  std::int64_t taps() const { return rows.kernel * columns.kernel; }
};

}  // namespace nn
