// Products of matrices of which one has few rows, as those of a batch and of a layer's weights.
// Hides nothing.
#pragma once

#include <cstdint>

namespace nn {

/// c [rows, columns] = sums of `depth` products, or += with `add`. A number of c is summed in an
/// order that neither rows nor columns beside it change.
struct MatrixKernels {
  struct Size {
    std::int64_t rows = 0, columns = 0, depth = 0;
  };
  /// Of row-major numbers; `stride` is from one row to the next.
  template <class Number>
  struct Matrix {
    Number* data = nullptr;
    std::int64_t stride = 0;
  };
  /// Of a [rows, depth] and b [columns, depth].
  void (*dots)(const Size& size, Matrix<const float> a, Matrix<const float> b, Matrix<float> c,
               bool add);
  /// Of b [depth, columns] and a, whose number of a row and a depth is at
  /// row * a.stride + depth * a_step.
  void (*combine)(const Size& size, Matrix<const float> a, std::int64_t a_step,
                  Matrix<const float> b, Matrix<float> c, bool add);
};

}  // namespace nn
