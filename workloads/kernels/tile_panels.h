// Tiles of pairs of bfloat16 numbers and their products, in the CPU's matrix tiles (AMX). As
// kernels_body.h, whose part it is: internal linkage, nothing of the standard library.
// Hides the tiles' shapes and their numbers.
#pragma once

#include "workloads/kernels/bf16_pairs.h"
#include "workloads/kernels/kernels.h"
#include "workloads/kernels/norms_streamed.h"
#include "workloads/kernels/transpose.h"

namespace nn {
namespace {

constexpr std::int64_t kTileRows = Bf16Tiles::kRows;
constexpr std::int64_t kTileWords = 16 * 16;
constexpr std::int64_t kTileRowBytes = 64;

/// As LDTILECFG reads it.
struct alignas(64) TileShapes {
  std::uint8_t palette, start_row, reserved[14];
  std::uint16_t row_bytes[16];
  std::uint8_t rows[16];
};

/// All tiles have 16 rows of 64 bytes while it lives; with halves, tile 6 has half the rows, and
/// tile 7 rows of half as many bytes. Of fewer than 16 points, tiles 0 to 4 and 7 have as many
/// rows.
enum class HalfTiles { kNone, kTwo };
class TileUse {
 public:
  explicit TileUse(HalfTiles halves = HalfTiles::kNone, std::int64_t points = kLanes) {
    TileShapes shapes = {};
    shapes.palette = 1;
    for (int tile = 0; tile < 8; ++tile) {
      shapes.row_bytes[tile] = kTileRowBytes;
      shapes.rows[tile] = 16;
    }
    if (halves == HalfTiles::kTwo) {
      shapes.rows[6] /= 2;
      shapes.row_bytes[7] /= 2;
    }
    if (points < kLanes) {
      for (const int tile : {0, 1, 2, 3, 4, 7})
        shapes.rows[tile] = static_cast<std::uint8_t>(points);
    }
    _tile_loadconfig(&shapes);
  }
  ~TileUse() { _tile_release(); }
  TileUse(const TileUse&) = delete;
  TileUse& operator=(const TileUse&) = delete;
};

/// 16 of a row's numbers, or the fewer that are left; zeros of a row that is not there.
inline __m256i numbers_of(const Bf16* row, std::int64_t column, __mmask16 mask) {
  return _mm256_maskz_loadu_epi16(row == nullptr ? __mmask16{0} : mask, row + column);
}

/// Calls put(words, i) with the 16 pairs of each 16 numbers of 32 rows. The rows behind them are
/// asked for on the way, one after the other: of so many at once, processors foresee nothing by
/// themselves.
template <class Put>
void for_each_pairs(const Bf16* const* rows, std::int64_t columns, const Put& put) {
  for (std::int64_t column = 0; column < columns; column += kLanes) {
    const std::int64_t left = columns - column;
    const auto mask = static_cast<__mmask16>(left < kLanes ? (1 << left) - 1 : 0xFFFF);
    if (column % kLineNumbers<Bf16> == 0) {
      const std::int64_t lines = (columns + kLineNumbers<Bf16> - 1) / kLineNumbers<Bf16>;
      const std::int64_t first = column / kLineNumbers<Bf16> * kTileRows;
      for (std::int64_t i = first; i < first + kTileRows; ++i) {
        __builtin_prefetch(rows[kTileRows + i / lines] + i % lines * kLineNumbers<Bf16>);
      }
    }
    Words words[kLanes];
    for (int pair = 0; pair < kLanes; ++pair) {
      words[pair] = reinterpret_cast<Words>(interleaved(
          numbers_of(rows[2 * pair], column, mask), numbers_of(rows[2 * pair + 1], column, mask)));
    }
    put(words, column / kLanes);
  }
}

void put_words(const Words* words, std::uint32_t* to) {
  for (int row = 0; row < kLanes; ++row) {
    __builtin_memcpy(to + row * kLanes, &words[row], sizeof words[row]);
  }
}

void pack_tiles(const Bf16* const* rows, std::int64_t columns, std::uint32_t* tiles,
                std::int64_t stride) {
  for_each_pairs(rows, columns,
                 [&](Words* words, std::int64_t i) { put_words(words, tiles + i * stride); });
}

void turn_tiles(const Bf16* const* rows, std::int64_t columns, std::uint32_t* tiles,
                std::int64_t stride) {
  for_each_pairs(rows, columns, [&](Words* words, std::int64_t i) {
    transpose_lanes(words);
    put_words(words, tiles + i * stride);
  });
}

/// Tiles 0 to 3 are sums; 4 is of the block, 5 to 7 are of panels, in turn.
template <int kPanels>
void multiply_panels(const Bf16Tiles::Operands& of, const Bf16Tiles::Sums& c, bool add) {
  const std::int64_t sum_bytes = c.row_stride * static_cast<std::int64_t>(sizeof(float));
  for (std::int64_t block = 0; block < of.blocks; ++block) {
    float* const to = c.first + block * c.block_stride;
    if (add) {
      _tile_loadd(0, to, sum_bytes);
      if (kPanels > 1) _tile_loadd(1, to + c.panel_stride, sum_bytes);
      if (kPanels > 2) _tile_loadd(2, to + 2 * c.panel_stride, sum_bytes);
      if (kPanels > 3) _tile_loadd(3, to + 3 * c.panel_stride, sum_bytes);
    } else {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
    }
    const std::uint32_t* turned = of.turned + block * of.turned_stride;
    const std::uint32_t* packed = of.packed;
    for (std::int64_t tile = 0; tile < of.tiles; ++tile) {
      _tile_loadd(4, turned, kTileRowBytes);
      _tile_loadd(5, packed, kTileRowBytes);
      _tile_dpbf16ps(0, 4, 5);
      if (kPanels > 1) {
        _tile_loadd(6, packed + of.packed_stride, kTileRowBytes);
        _tile_dpbf16ps(1, 4, 6);
      }
      if (kPanels > 2) {
        _tile_loadd(7, packed + 2 * of.packed_stride, kTileRowBytes);
        _tile_dpbf16ps(2, 4, 7);
      }
      if (kPanels > 3) {
        _tile_loadd(5, packed + 3 * of.packed_stride, kTileRowBytes);
        _tile_dpbf16ps(3, 4, 5);
      }
      turned += kTileWords;
      packed += kTileWords;
    }
    _tile_stored(0, to, sum_bytes);
    if (kPanels > 1) _tile_stored(1, to + c.panel_stride, sum_bytes);
    if (kPanels > 2) _tile_stored(2, to + 2 * c.panel_stride, sum_bytes);
    if (kPanels > 3) _tile_stored(3, to + 3 * c.panel_stride, sum_bytes);
  }
}

/// While tiles are in use.
void multiply_all_panels(const Bf16Tiles::Operands& of, const Bf16Tiles::Sums& c, bool add) {
  if (of.panels == 1) return multiply_panels<1>(of, c, add);
  if (of.panels == 2) return multiply_panels<2>(of, c, add);
  if (of.panels == 3) return multiply_panels<3>(of, c, add);
  multiply_panels<Bf16Tiles::kPanels>(of, c, add);
}

void multiply_tiles(const Bf16Tiles::Operands& of, const Bf16Tiles::Sums& c, bool add) {
  const TileUse use;
  multiply_all_panels(of, c, add);
}

}  // namespace
}  // namespace nn
