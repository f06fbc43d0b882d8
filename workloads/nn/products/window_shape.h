// Geometry of the windows of an image's convolution, for weights gradients.
#pragma once

#include <cstdint>

namespace nn {

/// Windows along one axis.
struct WindowAxis {
  std::int64_t from = 1, to = 1;  ///< pixels
  std::int64_t kernel = 1, stride = 1, padding = 0;
};

/// Along each axis, pixel p of `to` reads with tap t pixel p * stride + t - padding of `from`. For
/// a convolution, `from` is the source and `to` the gradient of the destination; for a transposed
/// one, `from` is that gradient and `to` the source.
struct WindowShape {
  WindowAxis rows, columns;
  std::int64_t in = 0, out = 0;  ///< channels of `from` and of `to`
  std::int64_t taps() const { return rows.kernel * columns.kernel; }
};

}  // namespace nn
