// Kernels of a volume's convolution with 3 x 3 x 3 taps, bias, LeakyReLU and the maximum of
// 2 x 2 x 2 points behind it. Hides that a maximum's gradient has one place of eight to go to, and
// that the backward pass multiplies for those places alone.
#pragma once

#include <cstdint>

namespace nn {

struct Bf16;

/// Points of a convolution's source, one sample's: channels last, in a margin of one point on all
/// sides, [depth + 2, height + 2, width + 2, in]. Extents are even; `in` is a multiple of 16, or at
/// most kNarrow; `out` is a multiple of 16.
struct Volume {
  static constexpr std::int64_t kTaps = 27;
  static constexpr std::int64_t kNarrow = 5;  ///< channels of which three points are 16 lanes
  static constexpr std::int64_t kBlock = 16;
  std::int64_t depth = 0, height = 0, width = 0, in = 0, out = 0;
  bool is_narrow() const { return in <= kNarrow; }
  std::int64_t row_points() const { return width + 2; }
  std::int64_t plane_points() const { return (height + 2) * row_points(); }
  std::int64_t source_points() const { return (depth + 2) * plane_points(); }
  std::int64_t pooled_points() const { return depth * height * width / 8; }
  /// Of the source lines around a row of pooled points.
  std::int64_t widened_floats() const { return 4 * 4 * row_points() * in; }
  std::int64_t in_blocks() const { return in / kBlock; }
  std::int64_t out_blocks() const { return out / kBlock; }
  /// Floats of an output channel's weights as the backward kernels have them:
  /// [in_blocks][27][16], or where narrow [9][16], a row's three points side by side.
  std::int64_t turned_floats() const { return is_narrow() ? kTaps / 3 * kBlock : kTaps * in; }
};

/// Pooled points, rows of them `row` points apart, planes `plane`: all channels of one after the
/// other. `first` is the point (0, 0, 0).
template <class Pointer>
struct PooledPoints {
  Pointer first = nullptr;
  std::int64_t row = 0, plane = 0;
};

/// One row of pooled points, all of the volume's width.
struct PooledRow {
  std::int64_t plane = 0, row = 0;
};

/// What the maxima were taken from, and which passed the LeakyReLU, [pooled points, out]: bits 0 to
/// 2 are the place in width, height and depth, bit 3 is set where the value is above 0.
using PoolChoice = std::uint8_t;

/// `T`: of activations. All sums are of floats.
template <class T>
struct VolumeForward {
  Volume volume;
  const T* src = nullptr;
  /// float: [out / 16][27][in][16]; Bf16: [out / 16][27][in / 2][16][2].
  const T* weights = nullptr;
  const float* float_weights = nullptr;  ///< in place of those, for forward_widened
  const float* bias = nullptr;           ///< [out]
  float slope = 0.0F;                    ///< of the LeakyReLU for values not above 0
  PooledPoints<T*> dst;
  PooledPoints<float*> floats = {};  ///< in place of dst, where set
  PoolChoice* choice = nullptr;      ///< null: nobody asks
};

template <class T>
struct VolumeBackward {
  Volume volume;
  const T* src = nullptr;               ///< of the convolution
  PooledPoints<const float*> diff_dst;  ///< gradient of the LeakyReLU's values
  const PoolChoice* choice = nullptr;
  float slope = 0.0F;
};

struct VolumeKernels {
  /// A row of pooled points for channels [16 block, 16 (block + blocks)), of at most two blocks.
  /// A point's value does not depend on what else is asked for. Null: the CPU has no such products.
  void (*forward_f32)(const VolumeForward<float>& call, const PooledRow& row, std::int64_t block,
                      std::int64_t blocks);
  void (*forward_bf16)(const VolumeForward<Bf16>& call, const PooledRow& row, std::int64_t block,
                       std::int64_t blocks);
  /// The same by products of floats, in `scratch` [widened_floats].
  void (*forward_widened)(const VolumeForward<Bf16>& call, const PooledRow& row, std::int64_t block,
                          std::int64_t blocks, float* scratch);
  /// Floats that the two kernels below work in.
  static constexpr std::int64_t kScratchFloats = 16 * 1024;
  /// sums [16 channels][turned_floats] += the weights' gradients by a strip of rows beginning with
  /// `row`, bias_sums [16] += the biases', for the 16 output channels of `block`. A strip has
  /// strip_rows(volume) rows, or those that are left.
  void (*weights_gradient_f32)(const VolumeBackward<float>& call, const PooledRow& row,
                               std::int64_t block, float* sums, float* bias_sums, float* scratch);
  void (*weights_gradient_bf16)(const VolumeBackward<Bf16>& call, const PooledRow& row,
                                std::int64_t block, float* sums, float* bias_sums, float* scratch);
  /// diff_src, laid out as the source, += the source's gradient by a strip of rows, for the 16
  /// input channels of `block`. weights: [out][in_blocks][27][16]. Not for narrow volumes.
  void (*source_gradient)(const VolumeBackward<float>& call, const PooledRow& row,
                          std::int64_t block, const float* weights, float* diff_src,
                          float* scratch);
};

/// Rows of pooled points that the backward kernels take at a time: those of narrow volumes are
/// short.
constexpr std::int64_t strip_rows(const Volume& volume) {
  std::int64_t rows = 1;
  while (rows < Volume::kBlock && volume.width / 2 * rows * 2 <= Volume::kBlock) rows *= 2;
  return rows;
}

}  // namespace nn
