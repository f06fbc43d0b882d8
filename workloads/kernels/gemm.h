// Matrix products. The kernels for bf16 pairs, for bf16 in AMX tiles, and for floats split into
// three bf16 values (bf16x3) share one interface, modelled on oneDNN 3's micro-kernel
// (dnnl::ukernel::brgemm): operands that are packed first, and a batch of offsets into them. A pair
// is two bf16 elements, adjacent along k, in 32 bits.
#pragma once

#include <cstdint>

#include "workloads/kernels/stores.h"

namespace nn {

struct Bf16;

/// Where A_i and B_i begin, in pairs from the beginning of each operand.
struct GemmOffsets {
  std::int64_t a = 0, b = 0;
};
inline constexpr GemmOffsets kNoOffsets[1] = {};

/// C [16 blocks][16 panels] = sum over i < batch of A_i [16 blocks][k] B_i [k][16 panels]; sums run
/// in the order of i, then of k. Operands are packed by the functions next to multiply(). k is a
/// number of steps, of one pair each, or of 16 pairs in AMX tiles.
struct GemmOperands {
  const std::uint32_t* a = nullptr;
  std::int64_t a_block = 0;  ///< pairs from 16 rows of A to the next
  const std::uint32_t* b = nullptr;
  std::int64_t b_panel = 0;  ///< pairs from 16 columns of B to the next
  std::int64_t blocks = 1, panels = 1, steps = 1;
  const GemmOffsets* offsets = kNoOffsets;  ///< [batch]
  std::int64_t batch = 1;
  std::int64_t a_step = 0, a_part = 0;  ///< pairs between A's steps, and parts; bf16x3 only
};

/// C as floats [blocks][panels][16 rows][16], with these distances in floats.
struct GemmSums {
  float* first = nullptr;
  std::int64_t block = 0, panel = 0, row = 0;
};

/// Writes C, or adds to C if `add`.
using GemmMultiply = void (*)(const GemmOperands& operands, const GemmSums& sums, bool add);

/// Products of unpacked float matrices, in vectors of any instruction set, for operands of which
/// one has few rows, such as a small batch times a layer's weights. The order in which an element
/// of C is summed does not depend on the numbers of rows and columns.
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
  /// c [rows, columns] = a [rows, depth] times the transpose of b [columns, depth].
  void (*dots)(const Size& size, Matrix<const float> a, Matrix<const float> b, Matrix<float> c);
  /// c = a b, with b [depth, columns]; element (row, k) of a is at row * a.stride + k * a_step.
  void (*combine)(const Size& size, Matrix<const float> a, std::int64_t a_step,
                  Matrix<const float> b, Matrix<float> c);
};

/// Products by the instruction that multiplies bf16 pairs (VDPBF16PS). Members are null without
/// has_pairs().
struct PairGemm {
  static constexpr int kPanels = 4;  ///< of B in a call, exactly
  /// `columns` adjacent elements of each of `count` rows, `stride` elements apart.
  struct Rows {
    const Bf16* first;
    std::int64_t stride, count, columns;
  };
  /// Packs either operand, with rows as k: pairs [(count + 1) / 2][16] for every 16 columns,
  /// `stride` pairs apart. Elements beyond the last row and column are zero.
  void (*pack)(const Rows& rows, std::uint32_t* words, std::int64_t stride) = nullptr;
  /// `count` pixels, `step` apart, of an image row of `width` pixels of 16 elements. The first is
  /// pixel `first`; pixels outside the row are zero.
  struct Points {
    const Bf16* line;
    std::int64_t width, first, step, count;
  };
  /// The same for pixels, with these as k.
  void (*pack_points)(const Points& points, std::uint32_t* words) = nullptr;
  GemmMultiply multiply = nullptr;
  /// Execute this many multiply instructions on registers alone, of pairs or of floats, to measure
  /// their rate.
  void (*spend_pairs)(std::int64_t instructions) = nullptr;
  void (*spend_floats)(std::int64_t instructions) = nullptr;
};

/// Products in AMX tiles of 16 rows of 16 pairs. Members are null without has_tiles().
struct TileGemm {
  static constexpr int kPanels = 4;  ///< of B in a call, at most
  static constexpr int kRows = 32;   ///< elements of k in a step
  /// Packs one step of B: `columns` elements of each of kRows rows (null: zeros) into tiles [16
  /// pairs of rows][16 columns], `stride` pairs apart. Columns beyond the last are zero. Prefetches
  /// the kRows rows that follow. REQUIRES: `rows` has 2 kRows elements.
  void (*pack)(const Bf16* const* rows, std::int64_t columns, std::uint32_t* tiles,
               std::int64_t stride) = nullptr;
  /// Packs one step of A: the same transposed, [16 columns][16 pairs of rows].
  void (*pack_transposed)(const Bf16* const* rows, std::int64_t columns, std::uint32_t* tiles,
                          std::int64_t stride) = nullptr;
  /// Tiles of successive steps are contiguous.
  GemmMultiply multiply = nullptr;
  /// A's rows are windows of an image: `lines` image rows of `parts` steps each, plus half a step
  /// if has_half. Distances in elements: line_step from image row to image row of a window,
  /// row_step and point_step from a window to the next one below and to the right.
  struct Windows {
    std::int64_t line_step = 0, row_step = 0, point_step = 0;
    std::int64_t lines = 1, parts = 1;
    bool has_half = false;
    std::int64_t channels = 0;  ///< columns of B, a multiple of 16
    /// Distances in B's tiles [16 pairs][16 channels], in pairs: from step to step, the half one
    /// included, through all lines; and from 16 channels to the next.
    std::int64_t part_words = 0, panel_words = 0;
    Stores stores = Stores::kCached;
  };
  /// dst [rows][points][channels] = products of the windows, the first of which is at `src`, and
  /// the weights, rounded to bf16.
  void (*multiply_windows)(const Bf16* src, const std::uint32_t* weights, const Windows& windows,
                           std::int64_t rows, std::int64_t points, Bf16* dst) = nullptr;
};

/// Products of floats in AMX tiles. A float is split into kParts bf16 values whose sum it is: each
/// is the rounded remainder of those before it, and parts below 2^-126 become zero. Infinities, and
/// values that round to one, give NaN. Members are null without has_tiles().
struct Bf16x3Gemm {
  static constexpr std::int64_t kParts = 3;
  /// `count` rows of 16 floats, `step` floats apart. A row of `lower` is paired with one of
  /// `upper`; null means zeros. Those `ahead` floats after each row are prefetched.
  struct Rows {
    const float* lower;
    const float* upper;
    std::int64_t step, count, ahead;
  };
  /// Splits into pairs [parts][count][16]: the lower half of a pair is a part of a float of
  /// `lower`, the upper half one of `upper`. Parts begin part_stride pairs apart. 16 rows give a
  /// tile of B.
  void (*split)(const Rows& rows, std::uint32_t* to, std::int64_t part_stride) = nullptr;
  /// The same for 16 rows, transposed: pairs [parts][16 columns][16 rows].
  void (*split_transposed)(const Rows& rows, std::uint32_t* to, std::int64_t part_stride) = nullptr;
  /// Blocks of A are contiguous tiles, its steps and parts a_step and a_part pairs apart; tiles of
  /// B are [steps][parts].
  GemmMultiply multiply = nullptr;
};

}  // namespace nn
