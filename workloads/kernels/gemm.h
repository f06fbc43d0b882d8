// Products of matrices. Those of bf16 pairs, of bf16 in matrix tiles, and of floats as three bf16
// numbers each have one seam, in the shape of oneDNN 3's micro-kernel (dnnl::ukernel::brgemm):
// operands that are packed first, and a batch of offsets into them.
#pragma once

#include <cstdint>

#include "workloads/kernels/stores.h"

namespace nn {

struct Bf16;

/// Where A_i and B_i begin, in words behind the beginnings of the operands.
struct GemmOffsets {
  std::int64_t a = 0, b = 0;
};
inline constexpr GemmOffsets kNoOffsets[1] = {};

/// C [16 blocks][16 panels] = sum over i < batch of A_i [16 blocks][k] B_i [k][16 panels]; sums run
/// in the order of i, then of k. Operands are as the functions beside multiply() pack them: a word
/// is a pair of bf16 elements, neighbours along k. k is a number of steps, of one pair each, or of
/// 16 in matrix tiles.
struct GemmOperands {
  const std::uint32_t* a = nullptr;
  std::int64_t a_block = 0;  ///< words from 16 rows of A to the next ones
  const std::uint32_t* b = nullptr;
  std::int64_t b_panel = 0;  ///< words from 16 columns of B to the next ones
  std::int64_t blocks = 1, panels = 1, steps = 1;
  const GemmOffsets* offsets = kNoOffsets;  ///< [batch]
  std::int64_t batch = 1;
  std::int64_t a_step = 0, a_part = 0;  ///< words from a step, and from a part; of bf16x3 alone
};

/// C as floats: [blocks][panels][16 rows][16], with these distances in floats.
struct GemmSums {
  float* first = nullptr;
  std::int64_t block = 0, panel = 0, row = 0;
};

/// Writes C, or adds to what stands there.
using GemmMultiply = void (*)(const GemmOperands& operands, const GemmSums& sums, bool add);

/// On floats, in vectors of any instruction set, of operands where they stand: products of which
/// one matrix has few rows, as those of a batch and of a layer's weights. An element of C is summed
/// in an order that neither rows nor columns beside it change.
struct VectorGemm {
  struct Size {
    std::int64_t rows = 0, columns = 0, depth = 0;
  };
  /// Row-major; `stride` is from one row to the next.
  template <class Number>
  struct Matrix {
    Number* data = nullptr;
    std::int64_t stride = 0;
  };
  /// c [rows, columns] = a [rows, depth] times b [columns, depth] transposed.
  void (*dots)(const Size& size, Matrix<const float> a, Matrix<const float> b, Matrix<float> c);
  /// The same of b [depth, columns], and of a whose element (row, k) is at
  /// row * a.stride + k * a_step.
  void (*combine)(const Size& size, Matrix<const float> a, std::int64_t a_step,
                  Matrix<const float> b, Matrix<float> c);
};

/// By instructions that multiply pairs of bf16 elements. Null without has_pairs().
struct PairGemm {
  static constexpr int kPanels = 4;  ///< of B, no fewer
  /// `columns` neighbouring elements of each of `count` rows, the first of which is at `first`.
  struct Rows {
    const Bf16* first;
    std::int64_t stride, count, columns;
  };
  /// Packs either operand, k being rows: words [(count + 1) / 2][16] for every 16 columns, the
  /// next ones `stride` words on. Beyond the last row and column are zeros.
  void (*pack)(const Rows& rows, std::uint32_t* words, std::int64_t stride) = nullptr;
  /// `count` pixels of a row of `width` pixels of 16 elements: the first is pixel `first`, the
  /// others follow `step` apart; beyond the row, pixels are zeros.
  struct Points {
    const Bf16* line;
    std::int64_t width, first, step, count;
  };
  /// The same of pixels, k being these.
  void (*pack_points)(const Points& points, std::uint32_t* words) = nullptr;
  GemmMultiply multiply = nullptr;
  /// Executes this many multiply instructions on registers alone, to measure their rate: of pairs,
  /// or of floats.
  void (*spend_pairs)(std::int64_t instructions) = nullptr;
  void (*spend_floats)(std::int64_t instructions) = nullptr;
};

/// In the CPU's matrix tiles (AMX), of 16 rows of 16 words. Null without has_tiles().
struct TileGemm {
  static constexpr int kPanels = 4;  ///< of B, at most
  static constexpr int kRows = 32;   ///< elements of a step
  /// Packs B of one step: `columns` elements of each of kRows rows, null being zeros, become tiles
  /// [16 pairs of rows][16 columns], the next ones `stride` words on; beyond the last column are
  /// zeros. The kRows rows behind them, which have to be there, too, are prefetched.
  void (*pack)(const Bf16* const* rows, std::int64_t columns, std::uint32_t* tiles,
               std::int64_t stride) = nullptr;
  /// Packs A of one step: the same transposed, [16 columns][16 pairs of rows].
  void (*pack_transposed)(const Bf16* const* rows, std::int64_t columns, std::uint32_t* tiles,
                          std::int64_t stride) = nullptr;
  /// Tiles of steps stand one behind the other.
  GemmMultiply multiply = nullptr;
  /// Where A's rows stand in an image: windows of `lines` lines of `parts` steps each, and of half
  /// a step more with `has_half`. Distances in elements: from line to line of a window, and from a
  /// window to those below and beside it.
  struct Windows {
    std::int64_t line_step = 0, row_step = 0, point_step = 0;
    std::int64_t lines = 1, parts = 1;
    bool has_half = false;
    std::int64_t channels = 0;  ///< columns of B, a multiple of 16
    /// Of B, tiles [16 pairs][16 channels]: words from step to step, the half one too, through all
    /// lines, and from 16 channels to the next.
    std::int64_t part_words = 0, panel_words = 0;
    Stores stores = Stores::kCached;
  };
  /// dst [rows][points][channels] = products of windows, the first of which stands at `src`, and of
  /// weights, rounded.
  void (*multiply_windows)(const Bf16* src, const std::uint32_t* weights, const Windows& windows,
                           std::int64_t rows, std::int64_t points, Bf16* dst) = nullptr;
};

/// On floats in matrix tiles: a float is the sum of kParts bf16 numbers, each of which is what
/// those before it leave, rounded; parts below 2^-126 are zero. Infinities, and values that round
/// to one, give NaN. Null without has_tiles().
struct Bf16x3Gemm {
  static constexpr std::int64_t kParts = 3;
  /// Rows of 16 floats `step` apart, with those that each is paired with: null, they are zeros.
  /// Those so many floats behind each are prefetched.
  struct Rows {
    const float* lower;
    const float* upper;
    std::int64_t step, count, ahead;
  };
  /// Words [parts][count][16]: the lower half a part of a float of `lower`, the upper half that of
  /// `upper`; parts begin part_stride words apart. Of 16 rows, a tile of B.
  void (*split)(const Rows& rows, std::uint32_t* to, std::int64_t part_stride) = nullptr;
  /// The same of 16 rows transposed: words [parts][16 columns][16 rows].
  void (*split_transposed)(const Rows& rows, std::uint32_t* to, std::int64_t part_stride) = nullptr;
  /// A's blocks stand one behind the other, its steps and parts a_step and a_part words apart; B's
  /// tiles [steps][parts].
  GemmMultiply multiply = nullptr;
};

}  // namespace nn
