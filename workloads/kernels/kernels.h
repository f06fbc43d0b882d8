// Kernels that oneDNN lacks or cannot fuse: one table of function pointers per instruction set,
// chosen once, at start.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "runner/base/system_facts.h"
#include "workloads/kernels/depthwise_kernels.h"
#include "workloads/kernels/gemm.h"
#include "workloads/kernels/sparse_kernels.h"
#include "workloads/kernels/stores.h"
#include "workloads/kernels/volume_kernels.h"

namespace nn {

/// `rows` pixels of adjacent channels of one sample: element (row, c) is at row * stride + c.
struct Column {
  std::int64_t rows = 0;
  std::int64_t stride = 0;
  int width = 0;  ///< channels here, 1..kMostChannels
  static constexpr int kMostChannels = 2048;
};

/// A bfloat16 number: the upper half of a float.
struct Bf16 {
  std::uint16_t bits;
};
/// Exact.
constexpr float as_float(Bf16 value) {
  constexpr unsigned kBits = 16;  // in the lower half
  return std::bit_cast<float>(std::uint32_t{value.bits} << kBits);
}
/// So that code templated on float and Bf16 can call it.
constexpr float as_float(float value) { return value; }

/// Which of 16 channels of a row passed the ReLU. Channel c of a column is bit c % 16 of element (c
/// / 16) * rows + row.
using PassedBits = std::uint16_t;

/// (value - mean) * scale + shift, per channel: arrays [width].
struct Normalization {
  const float* mean = nullptr;
  const float* scale = nullptr;
  const float* shift = nullptr;
};

/// The gradient that enters a batch norm's backward pass: first + second, masked.
template <class T>
struct GradientSource {
  const T* first = nullptr;
  const T* second = nullptr;           ///< added to first; may be null
  const PassedBits* passed = nullptr;  ///< the gradient is 0 where the bit is 0; null: no mask
  /// The gradient is 0 where the batch norm's source, normalised by `gate`, is not above 0. The
  /// mean is the one passed to the kernel, not the gate's. Null: no such mask.
  const Normalization* gate = nullptr;
};

/// What a batch norm adds before its ReLU.
template <class T>
struct Residual {
  const T* src = nullptr;               ///< null: nothing is added
  const Normalization* norm = nullptr;  ///< applied to src first; null: none
};

/// Kernels on activations of type T, float or Bf16; arithmetic is in float and double. Arrays
/// marked [width] hold one value per channel of the column. Sums run over rows in a fixed order:
/// short runs of rows in float, their totals in double. A gradient may be written over one that is
/// read.
template <class T>
struct ColumnKernels {
  /// Mean and sum of squared deviations from it, in one pass. mean [width], squares [width].
  void (*moments)(const T* src, const Column& column, double* mean, double* squares);
  /// dst = relu?(norm(src) + residual?). Stores the signs of dst to `passed` unless it is null.
  void (*normalize)(const T* src, const Normalization& norm, const Residual<T>& residual, T* dst,
                    PassedBits* passed, const Column& column, bool relu, Stores stores);
  /// sum [width] = sum of g, product [width] = sum of g * (src - mean), where g is the masked
  /// gradient. Stores g to `kept` unless it is null; the sums are then of the stored values.
  void (*gradient_sums)(const T* src, const GradientSource<T>& gradient, T* kept,
                        const Column& column, const float* mean, double* sum, double* product);
  /// diff_src = slope * g - offset - tilt * (src - mean).
  void (*gradient_apply)(const T* src, const GradientSource<T>& gradient, T* diff_src,
                         const Column& column, const float* mean, const float* slope,
                         const float* offset, const float* tilt);
  /// Both in one pass, for fixed statistics: sums as in gradient_sums, diff_src = slope * g. Stores
  /// g to diff_residual unless it is null.
  void (*gradient_frozen)(const T* src, const GradientSource<T>& gradient, T* diff_src,
                          T* diff_residual, const Column& column, const float* mean,
                          const float* slope, double* sum, double* product);
  /// dst [count] += src.
  void (*accumulate)(T* dst, const T* src, std::int64_t count);
  /// dst [width] = mean of the rows.
  void (*row_mean)(const T* src, const Column& column, float* dst);
  /// Every row of dst = value [width].
  void (*fill_rows)(T* dst, const Column& column, const float* value);
};

/// `count` feature vectors of `width` elements of a sample. The first is stored apart from the
/// others, which are contiguous.
struct FeatureShape {
  std::int64_t count = 0, width = 0;
  /// Floats of scratch: the vectors, their transpose or the gradient factors, and the products.
  std::int64_t scratch_floats() const {
    const std::int64_t vectors = (count + 15) / 16 * 16, numbers = (width + 15) / 16 * 16;
    const std::int64_t beside = vectors > numbers ? vectors : numbers;
    return vectors * (numbers + beside) + vectors * vectors / 2 + 16;
  }
};

/// Kernels between the layers of perceptrons, on values of type T; arithmetic is in float.
template <class T>
struct FeatureKernels {
  /// dst [width + count (count - 1) / 2]: src, then dot products of the vector pairs (1,0), (2,0),
  /// (2,1) ...
  void (*interact)(const T* src, const T* features, const FeatureShape& shape, T* dst,
                   float* scratch);
  /// Writes the gradients of src and features.
  void (*interact_backward)(const T* src, const T* features, const T* diff_dst,
                            const FeatureShape& shape, T* diff_src, T* diff_features,
                            float* scratch);
  /// masked_diff = diff_dst where dst is above 0, else 0. If dst is null, nothing is masked or
  /// written. sums [columns] = sums of the masked gradient over rows.
  void (*mask_rows)(const T* dst, const T* diff_dst, T* masked_diff, std::int64_t rows,
                    std::int64_t columns, float* sums);
  /// dst [rows] = src [rows][columns] times weights [columns].
  void (*project_rows)(const T* src, const float* weights, std::int64_t rows, std::int64_t columns,
                       float* dst);
  /// diff_src = diff_dst weights, unless null; sums [columns] = sums of diff_dst src over rows.
  void (*project_rows_backward)(const T* src, const float* weights, const float* diff_dst,
                                std::int64_t rows, std::int64_t columns, T* diff_src, float* sums);
};

/// Reorder a tile of weights [rows][16].
struct WeightTiles {
  /// [16][16] to its transpose.
  void (*transpose)(const float* tile, float* to);
  /// [rows][columns] to [(rows + 1) / 2][columns][2]: interleaves rows 2 k and 2 k + 1, with zeros
  /// for a missing last row. `columns` is a multiple of 16; pairs of rows begin `stride` elements
  /// apart.
  void (*pair_rows)(const float* tile, std::int64_t rows, std::int64_t columns, Bf16* to,
                    std::int64_t stride);
  /// [16][16] to [8][16][2]: interleaves columns 2 k and 2 k + 1; pairs of columns begin `stride`
  /// elements apart.
  void (*pair_columns)(const float* tile, Bf16* to, std::int64_t stride);
};

/// Below it, the scale of bytes would lose precision or be zero.
inline constexpr float kLeastOfBytes = 1e-30F;

struct Kernels {
  base::InstructionSet set = base::InstructionSet::kBaseline;
  ColumnKernels<float> f32;
  ColumnKernels<Bf16> bf16;
  /// dst [count] = src, rounded to nearest, ties to even; NaN stays NaN. With avx512_bf16 subnormal
  /// numbers become zero, here as in every bf16 result.
  void (*round_to_bf16)(const float* src, Bf16* dst, std::int64_t count);
  /// dst [count] = src.
  void (*widen)(const Bf16* src, float* dst, std::int64_t count);
  /// dst [count] = src / scale, rounded to the nearest whole number, for scale = the largest
  /// magnitude / 127. Where that is below kLeastOfBytes, all are 0, scale too; with an infinity or
  /// NaN among them, scale is NaN.
  void (*round_to_bytes)(const float* src, std::int8_t* dst, float* scale, std::int64_t count);
  /// dst [count] = scale * src.
  void (*widen_bytes)(const std::int8_t* src, float scale, float* dst, std::int64_t count);
  /// to [bytes] = from, with streaming (non-temporal) stores if `to` is aligned to a cache line.
  void (*stream_copy)(const void* from, std::int64_t bytes, void* to);
  WeightTiles weight_tiles;
  FeatureKernels<float> f32_features;
  FeatureKernels<Bf16> bf16_features;
  VectorGemm vector_gemm;
  SparseKernels sparse;
  VolumeKernels volumes;
  DepthwiseKernels<float> f32_depthwise;
  DepthwiseKernels<Bf16> bf16_depthwise;
  PairGemm pair_gemm = {};
  TileGemm tile_gemm = {};
  Bf16x3Gemm bf16x3_gemm = {};

  /// Whether pair_gemm is available.
  bool has_pairs() const { return set >= base::InstructionSet::kAvx512Bf16; }
  /// Whether tile_gemm and bf16x3_gemm (AMX tiles) are available.
  bool has_tiles() const { return set >= base::InstructionSet::kAmx; }

  template <class T>
  const DepthwiseKernels<T>& depthwise() const {
    if constexpr (std::is_same_v<T, float>) {
      return f32_depthwise;
    } else {
      return bf16_depthwise;
    }
  }
  template <class T>
  const FeatureKernels<T>& features() const {
    if constexpr (std::is_same_v<T, float>) {
      return f32_features;
    } else {
      return bf16_features;
    }
  }
  template <class T>
  const ColumnKernels<T>& on() const {
    if constexpr (std::is_same_v<T, float>) {
      return f32;
    } else {
      return bf16;
    }
  }
};

/// The kernels for `set`. Throws Error(kInternal) for an unknown set.
const Kernels& kernels(base::InstructionSet set);

namespace detail {
const Kernels& baseline_kernels();
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
const Kernels& avx512_bf16_kernels();
const Kernels& amx_kernels();
}  // namespace detail

}  // namespace nn
