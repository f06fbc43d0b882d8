// Own kernels on columns of channels: what oneDNN lacks or cannot fuse. One table per instruction
// set. Hides vector code; the choice is made once, at start.
#pragma once

#include <cstdint>

#include "runner/base/system_facts.h"

namespace nn {

/// `rows` points of up to 16 neighbouring channels of one sample: element (row, c) stands at row *
/// stride + c.
struct Column {
  std::int64_t rows = 0;
  std::int64_t stride = 0;
  int width = 0;  ///< channels here, 1..16
};

/// What a batch norm's backward pass adds to and masks its gradient with.
struct GradientSource {
  const float* first = nullptr;
  const float* second = nullptr;  ///< added to first; may be null
  const float* output = nullptr;  ///< where this is <= 0, the gradient is 0 (ReLU); null: no mask
};

/// Arrays marked [width] hold one value per channel of the column. Sums run over rows in a fixed
/// order, in pieces short enough for float, then in double.
struct Kernels {
  /// Mean and sum of squared distances from it (two passes). mean [width], squares [width].
  void (*moments)(const float* src, const Column& column, double* mean, double* squares);
  /// dst = relu?((src - mean) * scale + shift + residual?). residual may be null.
  void (*normalize)(const float* src, const float* residual, float* dst, const Column& column,
                    const float* mean, const float* scale, const float* shift, bool relu);
  /// sum [width] = sum of g, product [width] = sum of g * (src - mean), g being the masked
  /// gradient.
  void (*gradient_sums)(const float* src, const GradientSource& gradient, const Column& column,
                        const float* mean, double* sum, double* product);
  /// diff_src = slope * g - offset - tilt * (src - mean); g itself goes to diff_residual unless
  /// null.
  void (*gradient_apply)(const float* src, const GradientSource& gradient, float* diff_src,
                         float* diff_residual, const Column& column, const float* mean,
                         const float* slope, const float* offset, const float* tilt);
  /// Both in one pass where statistics are fixed: the sums as above, diff_src = slope * g; g itself
  /// goes to diff_residual unless null.
  void (*gradient_frozen)(const float* src, const GradientSource& gradient, float* diff_src,
                          float* diff_residual, const Column& column, const float* mean,
                          const float* slope, double* sum, double* product);
  /// dst [count] += src.
  void (*accumulate)(float* dst, const float* src, std::int64_t count);
  /// dst [width] = mean of the rows.
  void (*row_mean)(const float* src, const Column& column, float* dst);
  /// Every row of dst = value [width].
  void (*fill_rows)(float* dst, const Column& column, const float* value);
};

/// The kernels for `set`. Throws Error(kInternal) when this build lacks them.
const Kernels& kernels(base::InstructionSet set);

namespace detail {
const Kernels& baseline_kernels();
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
}  // namespace detail

}  // namespace nn
