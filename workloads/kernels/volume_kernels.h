// Kernels for a 3 x 3 x 3 convolution of a volume with bias, LeakyReLU and 2 x 2 x 2 max pooling.
// The gradient of a maximum goes to one voxel of eight, and the backward pass multiplies only for
// that voxel.
#pragma once

#include <cstdint>

namespace nn {

struct Bf16;

/// Voxels of one sample of the convolution's source, channels last, with a margin of one voxel on
/// all sides: [depth + 2, height + 2, width + 2, in]. Extents are even; `in` is a multiple of 16,
/// or at most kNarrow; `out` is a multiple of 16.
struct Volume {
  static constexpr std::int64_t kTaps = 27;
  static constexpr std::int64_t kNarrow = 5;  ///< three voxels of so few channels fit into 16 lanes
  static constexpr std::int64_t kBlock = 16;
  std::int64_t depth = 0, height = 0, width = 0, in = 0, out = 0;
  bool is_narrow() const { return in <= kNarrow; }
  std::int64_t row_points() const { return width + 2; }
  std::int64_t plane_points() const { return (height + 2) * row_points(); }
  std::int64_t source_points() const { return (depth + 2) * plane_points(); }
  std::int64_t pooled_points() const { return depth * height * width / 8; }
  /// Floats of the 4 x 4 source rows around a row of pooled voxels.
  std::int64_t widened_floats() const { return 4 * 4 * row_points() * in; }
  std::int64_t in_blocks() const { return in / kBlock; }
  std::int64_t out_blocks() const { return out / kBlock; }
  /// Floats of an output channel's weights as the backward kernels read them: [in_blocks][27][16],
  /// or [9][16] for narrow volumes, with the three voxels of a row side by side.
  std::int64_t backward_weight_floats() const {
    return is_narrow() ? kTaps / 3 * kBlock : kTaps * in;
  }
};

/// Pooled voxels, channels last. Rows are `row` voxels apart, planes `plane` voxels. `first` is
/// voxel (0, 0, 0).
template <class Pointer>
struct PooledPoints {
  Pointer first = nullptr;
  std::int64_t row = 0, plane = 0;
};

/// One row of pooled voxels, of the volume's whole width.
struct PooledRow {
  std::int64_t plane = 0, row = 0;
};

/// Where each maximum was taken from, and whether it passed the LeakyReLU, [pooled voxels, out]:
/// bits 0 to 2 are the position in width, height and depth, bit 3 is set if the value is above 0.
using PoolChoice = std::uint8_t;

/// T is the type of activations. Sums are in float.
template <class T>
struct VolumeForward {
  Volume volume;
  const T* src = nullptr;
  /// float: [out / 16][27][in][16]; Bf16: [out / 16][27][in / 2][16][2].
  const T* weights = nullptr;
  const float* float_weights = nullptr;  ///< in place of `weights`, for forward_widened
  const float* bias = nullptr;           ///< [out]
  float slope = 0.0F;                    ///< of the LeakyReLU for values not above 0
  PooledPoints<T*> dst;
  PooledPoints<float*> floats = {};  ///< in place of dst, if set
  PoolChoice* choice = nullptr;      ///< null: not recorded
};

template <class T>
struct VolumeBackward {
  Volume volume;
  const T* src = nullptr;               ///< the convolution's source
  PooledPoints<const float*> diff_dst;  ///< gradient of the LeakyReLU's output
  const PoolChoice* choice = nullptr;
  float slope = 0.0F;
};

struct VolumeKernels {
  /// Computes a row of pooled voxels for channels [16 block, 16 (block + blocks)); blocks is 1 or
  /// 2. A voxel does not depend on what else a call computes. Null if the CPU lacks the
  /// instructions.
  void (*forward_f32)(const VolumeForward<float>& call, const PooledRow& row, std::int64_t block,
                      std::int64_t blocks);
  void (*forward_bf16)(const VolumeForward<Bf16>& call, const PooledRow& row, std::int64_t block,
                       std::int64_t blocks);
  /// The same by products of floats. `scratch` [widened_floats].
  void (*forward_widened)(const VolumeForward<Bf16>& call, const PooledRow& row, std::int64_t block,
                          std::int64_t blocks, float* scratch);
  /// Floats of `scratch` for the backward kernels below.
  static constexpr std::int64_t kScratchFloats = 16 * 1024;
  /// sums [16 channels][backward_weight_floats] += the weights' gradients, and bias_sums [16] +=
  /// the biases', from a strip of rows beginning with `row`, for the 16 output channels of `block`.
  /// A strip has strip_rows(volume) rows, or those that are left.
  void (*weights_gradient_f32)(const VolumeBackward<float>& call, const PooledRow& row,
                               std::int64_t block, float* sums, float* bias_sums, float* scratch);
  void (*weights_gradient_bf16)(const VolumeBackward<Bf16>& call, const PooledRow& row,
                                std::int64_t block, float* sums, float* bias_sums, float* scratch);
  /// diff_src, laid out as the source, += the source's gradient from a strip of rows, for the 16
  /// input channels of `block`. weights: [out][in_blocks][27][16]. Not for narrow volumes.
  void (*source_gradient)(const VolumeBackward<float>& call, const PooledRow& row,
                          std::int64_t block, const float* weights, float* diff_src,
                          float* scratch);
};

/// Rows of pooled voxels that the backward kernels process together: several if rows are short.
constexpr std::int64_t strip_rows(const Volume& volume) {
  std::int64_t rows = 1;
  while (rows < Volume::kBlock && volume.width / 2 * rows * 2 <= Volume::kBlock) rows *= 2;
  return rows;
}

}  // namespace nn
