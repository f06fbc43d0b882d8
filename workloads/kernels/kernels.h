// Own kernels on columns of channels: what oneDNN lacks or cannot fuse. One table per instruction
// set. Hides vector code; the choice is made once, at start.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "runner/base/system_facts.h"
#include "workloads/kernels/depthwise_kernels.h"
#include "workloads/kernels/matrix_kernels.h"
#include "workloads/kernels/sparse_kernels.h"
#include "workloads/kernels/stores.h"
#include "workloads/kernels/volume_kernels.h"

namespace nn {

/// `rows` points of neighbouring channels of one sample: element (row, c) stands at row * stride +
/// c.
struct Column {
  std::int64_t rows = 0;
  std::int64_t stride = 0;
  int width = 0;  ///< channels here, 1..kMostChannels
  static constexpr int kMostChannels = 2048;
};

/// A number in bfloat16: the upper half of a float.
struct Bf16 {
  std::uint16_t bits;
};
/// Exact.
constexpr float as_float(Bf16 value) {
  constexpr unsigned kBits = 16;  // of the lower half
  return std::bit_cast<float>(std::uint32_t{value.bits} << kBits);
}
/// For what is written once for both.
constexpr float as_float(float value) { return value; }

/// Which of 16 channels of a row passed the ReLU: bit c % 16 of entry c / 16 * rows + row of a
/// column's.
using PassedBits = std::uint16_t;

/// (value - mean) * scale + shift, by channel: arrays [width].
struct Normalization {
  const float* mean = nullptr;
  const float* scale = nullptr;
  const float* shift = nullptr;
};

/// What a batch norm's backward pass adds to and masks its gradient with.
template <class T>
struct GradientSource {
  const T* first = nullptr;
  const T* second = nullptr;  ///< added to first; may be null
  const PassedBits* passed =
      nullptr;  ///< where the bit is 0, the gradient is 0; null: no such mask
  /// The gradient is 0 where the batch norm's source, normalised so, is not above 0; its mean is
  /// the one that the kernel is given. Null: no such mask.
  const Normalization* gate = nullptr;
};

/// What a batch norm adds before its ReLU.
template <class T>
struct Residual {
  const T* src = nullptr;               ///< null: nothing
  const Normalization* norm = nullptr;  ///< that src goes through first; null: none
};

/// Kernels on activations of one type, float or Bf16; all arithmetic is in float and double. Arrays
/// marked [width] hold one value per channel of the column. Sums run over rows
/// in a fixed order, in pieces short enough for float, then in double. Gradients may be written in
/// place of those that are read.
template <class T>
struct ColumnKernels {
  /// Mean and sum of squared distances from it, in one pass. mean [width], squares [width].
  void (*moments)(const T* src, const Column& column, double* mean, double* squares);
  /// dst = relu?(norm(src) + residual?). passed gets the signs of dst unless it is null.
  void (*normalize)(const T* src, const Normalization& norm, const Residual<T>& residual, T* dst,
                    PassedBits* passed, const Column& column, bool relu, Stores stores);
  /// sum [width] = sum of g, product [width] = sum of g * (src - mean), g being the masked
  /// gradient. It goes to `kept` unless that is null, and is summed as it is kept.
  void (*gradient_sums)(const T* src, const GradientSource<T>& gradient, T* kept,
                        const Column& column, const float* mean, double* sum, double* product);
  /// diff_src = slope * g - offset - tilt * (src - mean).
  void (*gradient_apply)(const T* src, const GradientSource<T>& gradient, T* diff_src,
                         const Column& column, const float* mean, const float* slope,
                         const float* offset, const float* tilt);
  /// Both in one pass where statistics are fixed: the sums as above, diff_src = slope * g; g itself
  /// goes to diff_residual unless null.
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

/// A sample's feature vectors: the first apart from the others, which stand side by side.
struct FeatureShape {
  std::int64_t count = 0, width = 0;
  /// Floats that kernels work in: vectors, the same turned or factors of theirs, and products.
  std::int64_t scratch_floats() const {
    const std::int64_t vectors = (count + 15) / 16 * 16, numbers = (width + 15) / 16 * 16;
    const std::int64_t beside = vectors > numbers ? vectors : numbers;
    return vectors * (numbers + beside) + vectors * vectors / 2 + 16;
  }
};

/// Kernels between the layers of perceptrons, on values of one type; arithmetic in float.
template <class T>
struct FeatureKernels {
  /// dst [width + count (count - 1) / 2]: src, then products of pairs (1,0), (2,0), (2,1) ...
  void (*interact)(const T* src, const T* features, const FeatureShape& shape, T* dst,
                   float* scratch);
  /// Writes the gradients of src and features.
  void (*interact_backward)(const T* src, const T* features, const T* diff_dst,
                            const FeatureShape& shape, T* diff_src, T* diff_features,
                            float* scratch);
  /// masked_diff = diff_dst where dst is above 0, else 0; with dst null all of it counts and
  /// nothing is written. sums [columns] = sums over rows of what counts.
  void (*mask_rows)(const T* dst, const T* diff_dst, T* masked_diff, std::int64_t rows,
                    std::int64_t columns, float* sums);
  /// dst [rows] = products of rows [columns] and weights [columns].
  void (*project_rows)(const T* src, const float* weights, std::int64_t rows, std::int64_t columns,
                       float* dst);
  /// diff_src = diff_dst weights, unless null; sums [columns] = sums over rows of diff_dst src.
  void (*project_rows_backward)(const T* src, const float* weights, const float* diff_dst,
                                std::int64_t rows, std::int64_t columns, T* diff_src, float* sums);
};

/// A tile of weights [rows][16] in other orders.
struct WeightTiles {
  /// 16 rows to [16][rows].
  void (*transpose)(const float* tile, float* to);
  /// [rows][columns], a multiple of 16, to [(rows + 1) / 2][columns][2]: rows 2 k and 2 k + 1 side
  /// by side, zeros beyond the last one; pairs of rows begin `stride` numbers apart.
  void (*pair_rows)(const float* tile, std::int64_t rows, std::int64_t columns, Bf16* to,
                    std::int64_t stride);
  /// 16 rows to [8][rows][2]: columns 2 k and 2 k + 1 side by side; pairs of columns begin `stride`
  /// numbers apart.
  void (*pair_columns)(const float* tile, Bf16* to, std::int64_t stride);
};

/// Sums of products of bfloat16 numbers, two of which stand side by side. Null without has_pairs().
struct Bf16Products {
  static constexpr int kPanels = 4;
  /// `columns` neighbouring numbers of each of `count` rows, the first of which stands at `first`.
  struct Rows {
    const Bf16* first;
    std::int64_t stride, count, columns;
  };
  /// Rows become panels of pairs [(count + 1) / 2, 16], one for every 16 columns, panel i at
  /// i * stride: of rows 2 k and 2 k + 1, the lower and upper half of a word; zeros beyond the last
  /// row and column.
  void (*pack)(const Rows& rows, std::uint32_t* pairs, std::int64_t stride) = nullptr;
  /// `count` points of a line of `width` points of 16 numbers, of which the first is point `first`
  /// and the others `step` apart; beyond the line, points are zeros.
  struct Points {
    const Bf16* line;
    std::int64_t width, first, step, count;
  };
  /// The same of points, as one panel.
  void (*pack_points)(const Points& points, std::uint32_t* pairs) = nullptr;
  /// Panels [kPanels][16 of b][16 of a]: panel i starts at i * panel_stride, its rows stand
  /// row_stride apart.
  struct Sums {
    float* first;
    std::int64_t panel_stride, row_stride;
  };
  /// Where pairs of a panel stand: words from one image, and from one line, to the next.
  struct Pitch {
    std::int64_t image = 0, line = 0;
  };
  /// Lines of neighbouring pairs; panel i of `a` starts at i * a_stride.
  struct Operands {
    const std::uint32_t* a;
    std::int64_t a_stride;
    const std::uint32_t* b;
    std::int64_t images, lines, pairs;
    Pitch a_pitch, b_pitch;
  };
  /// c = sum over all pairs of a b, or += with `add`.
  void (*multiply)(const Operands& operands, const Sums& c, bool add) = nullptr;
  /// So many instructions that multiply what is in registers, and nothing else: pairs, or floats.
  void (*spend_pairs)(std::int64_t instructions) = nullptr;
  void (*spend_floats)(std::int64_t instructions) = nullptr;
};

/// Sums of products of bfloat16 numbers in the CPU's matrix tiles, of 16 rows of 16 words each.
/// Null without has_tiles().
struct Bf16Tiles {
  static constexpr int kPanels = 4;
  static constexpr int kRows = 32;  ///< of activations, whose pairs are a tile's rows
  /// `columns` numbers of each of kRows rows, null being zeros, become tiles, one for every 16
  /// columns, tile i at i * stride: [16 pairs of rows][16 columns][2], zeros beyond the last
  /// column. The kRows rows behind them, which have to be there, too, are fetched.
  void (*pack)(const Bf16* const* rows, std::int64_t columns, std::uint32_t* tiles,
               std::int64_t stride) = nullptr;
  /// The same as [16 columns][16 pairs of rows][2].
  void (*turn)(const Bf16* const* rows, std::int64_t columns, std::uint32_t* tiles,
               std::int64_t stride) = nullptr;
  /// `tiles` tiles one behind the other: of up to kPanels panels as packed, and of blocks as
  /// turned.
  struct Operands {
    const std::uint32_t* packed;
    std::int64_t packed_stride;  ///< from panel to panel
    const std::uint32_t* turned;
    std::int64_t turned_stride;  ///< from block to block
    std::int64_t panels, blocks, tiles;
  };
  /// [blocks][panels][16 of a block's columns][16 of a panel's], rows row_stride apart.
  struct Sums {
    float* first;
    std::int64_t block_stride, panel_stride, row_stride;
  };
  /// c = sums over all rows of products of a block's and a panel's columns, or += with `add`.
  void (*multiply)(const Operands& operands, const Sums& c, bool add) = nullptr;
  /// Where windows stand, whose rows are `parts` times kRows neighbouring numbers, and half as many
  /// more with `has_half`, and where what they are multiplied to goes. Steps are numbers: from line
  /// to line of a window, and from a window to those below and beside it.
  struct Windows {
    std::int64_t line_step = 0, row_step = 0, point_step = 0;
    std::int64_t lines = 1, parts = 1;
    bool has_half = false;
    std::int64_t channels = 0;  ///< that they are multiplied to, a multiple of 16
    /// Of weights, tiles [16 pairs of numbers][16 channels][2]: words from part to part, the half
    /// one too, through all lines, and from 16 channels to the next.
    std::int64_t part_words = 0, panel_words = 0;
    std::int64_t dst_row_step = 0, dst_point_step = 0;
    Stores stores = Stores::kCached;
  };
  /// dst [rows][points][channels] = products of windows, the first of which stands at `met`, and of
  /// weights.
  void (*multiply_windows)(const Bf16* met, const std::uint32_t* weights, const Windows& windows,
                           std::int64_t rows, std::int64_t points, Bf16* dst) = nullptr;
};

/// Sums of products of floats in matrix tiles: a float is the sum of kParts numbers in bfloat16,
/// each of which is what those before it leave, rounded; parts below 2^-126 are zero.
/// Infinities, and values that round to one, give NaN. Null without has_tiles().
struct FloatTiles {
  static constexpr std::int64_t kParts = 3;
  /// Rows of 16 floats `step` apart, with those that each is paired with: null, they are zeros.
  /// Those so many floats behind each are fetched.
  struct Rows {
    const float* lower;
    const float* upper;
    std::int64_t step, count, ahead;
  };
  /// Words [parts][count][16]: in the lower half a part of a float of `lower`, in the upper half of
  /// that of `upper`; parts begin part_stride words apart.
  void (*split)(const Rows& rows, std::uint32_t* to, std::int64_t part_stride) = nullptr;
  /// The same of 16 rows, as words [parts][16 columns][16 rows].
  void (*turn)(const Rows& rows, std::uint32_t* to, std::int64_t part_stride) = nullptr;
  /// `steps` times 32 numbers of a row at each of so many places, and of a column, in pairs: from
  /// each place on blocks of 16 rows as words [16 rows][16 pairs], one behind the other, their
  /// parts and their steps so many words apart; panels of 16 columns as words
  /// [places][steps][parts][16 pairs][16 columns].
  struct Operands {
    const std::uint32_t* const* rows;
    std::int64_t places, part_stride, step_stride;
    const std::uint32_t* columns;
    std::int64_t panel_stride;
    std::int64_t blocks, panels, steps;
  };
  /// [panels][16 blocks of rows][16 columns], rows row_stride apart.
  struct Sums {
    float* first;
    std::int64_t panel_stride, row_stride;
  };
  /// c = sums of products of rows and columns, or += with `add`.
  void (*multiply)(const Operands& operands, const Sums& c, bool add) = nullptr;
};

struct Kernels {
  base::InstructionSet set = base::InstructionSet::kBaseline;
  ColumnKernels<float> f32;
  ColumnKernels<Bf16> bf16;
  /// dst [count] = src, rounded to the nearest, ties to even; what is no number stays none. With
  /// avx512_bf16 numbers that are too small to be normal become zero, here as in all results.
  void (*round_to_bf16)(const float* src, Bf16* dst, std::int64_t count);
  /// dst [count] = src.
  void (*widen)(const Bf16* src, float* dst, std::int64_t count);
  /// to [bytes] = from; whole lines pass by the caches, where `to` begins one.
  void (*copy_past_caches)(const void* from, std::int64_t bytes, void* to);
  WeightTiles weight_tiles;
  FeatureKernels<float> f32_features;
  FeatureKernels<Bf16> bf16_features;
  MatrixKernels matrices;
  SparseKernels sparse;
  VolumeKernels volumes;
  DepthwiseKernels<float> f32_depthwise;
  DepthwiseKernels<Bf16> bf16_depthwise;
  Bf16Products bf16_products = {};
  Bf16Tiles bf16_tiles = {};
  FloatTiles float_tiles = {};

  /// Whether pairs of bfloat16 numbers are multiplied at once: bf16_products.
  bool has_pairs() const { return set >= base::InstructionSet::kAvx512Bf16; }
  /// Whether there are matrix tiles: bf16_tiles, float_tiles.
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

/// The kernels for `set`. Throws Error(kInternal) when this build lacks them.
const Kernels& kernels(base::InstructionSet set);

namespace detail {
const Kernels& baseline_kernels();
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
const Kernels& avx512_bf16_kernels();
const Kernels& amx_kernels();
}  // namespace detail

}  // namespace nn
