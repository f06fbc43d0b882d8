// Narrow products in matrix tiles, of points whose channels are side by side. As tile_panels.h.
// Hides how many points are multiplied together.
#pragma once

#include "workloads/kernels/narrow_body.h"
#include "workloads/kernels/tile_windows.h"

namespace nn {
namespace {

constexpr std::int64_t kNarrowPanels = NarrowShape::kPlaces / kLanes;
static_assert(kNarrowPanels == 2);

/// Numbers of pairs of one block of weights by output, or of sums of gradients.
constexpr std::int64_t kNarrowBlock = NarrowShape::kPlaces * NarrowShape::kBlock;

/// A row of weights has a tile's 16 outputs, and those of the other tile beside them.
constexpr std::int64_t kWeightBytes = kNarrowPanels * kTileRowBytes;
constexpr std::int64_t kPartWeights = kTileRows * NarrowShape::kPlaces;
constexpr std::int64_t kPointBytes =
    NarrowShape::kPlaces * static_cast<std::int64_t>(sizeof(float));

/// Products of 32 points, of an even number of blocks. Those 64 points on are asked for in turn.
inline void multiply_many_points(const Bf16* src, const Bf16* weights, const NarrowShape& shape,
                                 float* products) {
  const std::int64_t step_bytes = shape.point_step * static_cast<std::int64_t>(sizeof(Bf16));
  const std::int64_t apart = kLanes * shape.point_step;
  const Bf16* ahead = src + 4 * apart;
  const auto fetch_lines = [&ahead] {
    for (int line = 0; line < kLanes; ++line, ahead += kLineNumbers<Bf16>) {
      __builtin_prefetch(ahead, 0, 2);
    }
  };
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::int64_t block = 0; block < shape.blocks; block += 2) {
    fetch_lines();
    _tile_loadd(6, weights, kWeightBytes);
    _tile_loadd(4, src, step_bytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, weights + kTileRows, kWeightBytes);
    _tile_dpbf16ps(1, 4, 7);
    fetch_lines();
    _tile_loadd(5, src + apart, step_bytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    src += kTileRows;
    weights += kPartWeights;
  }
  _tile_stored(0, products, kPointBytes);
  _tile_stored(1, products + kLanes, kPointBytes);
  _tile_stored(2, products + kLanes * NarrowShape::kPlaces, kPointBytes);
  _tile_stored(3, products + kLanes * NarrowShape::kPlaces + kLanes, kPointBytes);
}

inline void narrow_forward_tiles(const Bf16* src, const Bf16* weights, const NarrowShape& shape,
                                 std::int64_t points, float* products) {
  Bf16Tiles::Windows windows;
  windows.point_step = shape.point_step;
  windows.parts = shape.blocks / 2;
  windows.has_half = shape.blocks % 2 != 0;
  windows.part_words = kPartWeights / 2;
  windows.panel_words = kLanes;
  const TileUse use(windows.has_half ? HalfTiles::kTwo : HalfTiles::kNone, points);
  std::int64_t point = 0;
  for (; !windows.has_half && point + kTileRows <= points; point += kTileRows) {
    multiply_many_points(src + point * shape.point_step, weights, shape,
                         products + point * NarrowShape::kPlaces);
  }
  for (; point < points; point += kLanes) {
    // The last ones may be found twice.
    if (points - point < kLanes && points >= kLanes) point = points - kLanes;
    sum_windows<kNarrowPanels, kWeightBytes>(
        src + point * shape.point_step, reinterpret_cast<const std::uint32_t*>(weights), windows);
    _tile_stored(0, products + point * NarrowShape::kPlaces, kPointBytes);
    _tile_stored(1, products + point * NarrowShape::kPlaces + kLanes, kPointBytes);
  }
}

/// Points are windows of all 32 places, which meet one tile of weights for every 16 channels.
inline void narrow_source_gradient_tiles(const Bf16* diff_products, const Bf16* weights,
                                         const NarrowShape& shape, std::int64_t points,
                                         Bf16* diff_src) {
  Bf16Tiles::Windows windows;
  windows.point_step = NarrowShape::kPlaces;
  windows.channels = shape.blocks * kLanes;
  windows.panel_words = kTileWords;
  windows.dst_point_step = shape.point_step;
  windows.stores = shape.stores;
  multiply_windows(diff_products, reinterpret_cast<const std::uint32_t*>(weights), windows, 1,
                   points, diff_src);
}

/// So many tiles of points at a time: what is read of them stays in the second cache while columns
/// of 32 channels, a line of each point, are gone over one after the other.
constexpr std::int64_t kNarrowTiles = 9;

/// 32 numbers of each of two points: pairs of the first 16, and of the others.
inline void pair_lines(__m512i lower, __m512i upper, std::uint32_t* first, std::uint32_t* second) {
  const __m512i even = _mm512_maskz_unpacklo_epi16(~__mmask32{0}, lower, upper);
  const __m512i odd = _mm512_maskz_unpackhi_epi16(~__mmask32{0}, lower, upper);
  const __m512i begins = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
  const __m512i ends = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
  _mm512_store_si512(first, _mm512_maskz_permutex2var_epi64(0xFF, even, begins, odd));
  _mm512_store_si512(second, _mm512_maskz_permutex2var_epi64(0xFF, even, ends, odd));
}

/// A column of a tile of points, of which there are `points`: tiles of pairs.
template <int kPanels>
void pack_column(const Bf16* src, std::int64_t point_step, std::int64_t points,
                 std::uint32_t* packed) {
  const __mmask32 mask = kPanels > 1 ? ~__mmask32{0} : __mmask32{0xFFFF};
  for (std::int64_t point = 0; point < kTileRows; point += 2, packed += kLanes) {
    const Bf16* const from = src + point * point_step;
    const __mmask32 of_upper = point + 1 < points ? mask : __mmask32{0};
    const __m512i lower = _mm512_maskz_loadu_epi16(point < points ? mask : __mmask32{0}, from);
    const __m512i upper = _mm512_maskz_loadu_epi16(of_upper, from + point_step);
    pair_lines(lower, upper, packed, packed + kTileWords);
  }
}

/// sums [kPanels][32][16] += of a column of up to kNarrowTiles tiles of points, of which `turned`
/// has the gradients of products. Lines from `ahead` on are asked for meanwhile.
template <int kPanels>
void add_narrow_column(const Bf16* src, std::int64_t point_step, std::int64_t points,
                       const std::uint32_t* turned, const Bf16*& ahead, float* sums) {
  constexpr std::int64_t kHalf = kLanes * kLanes, kTurned = kNarrowTiles * kTileWords;
  alignas(64) std::uint32_t packed[2][2 * kTileWords];
  _tile_loadd(0, sums, kTileRowBytes);
  _tile_loadd(1, sums + kHalf, kTileRowBytes);
  if (kPanels > 1) _tile_loadd(2, sums + kNarrowBlock, kTileRowBytes);
  if (kPanels > 1) _tile_loadd(3, sums + kNarrowBlock + kHalf, kTileRowBytes);
  pack_column<kPanels>(src, point_step, points, packed[0]);
  int which = 0;
  for (std::int64_t first = 0; first < points; first += kTileRows, turned += kTileWords) {
    for (int line = 0; line < kTileRows; ++line, ahead += kLineNumbers<Bf16>) {
      __builtin_prefetch(ahead, 0, 2);
    }
    // The next tile's, so that what is loaded into tiles was not just written.
    const std::int64_t next = first + kTileRows;
    if (next < points) {
      pack_column<kPanels>(src + next * point_step, point_step, points - next, packed[1 - which]);
    }
    _tile_loadd(4, turned, kTileRowBytes);
    _tile_loadd(5, turned + kTurned, kTileRowBytes);
    _tile_loadd(6, packed[which], kTileRowBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 5, 6);
    if (kPanels > 1) {
      _tile_loadd(7, packed[which] + kTileWords, kTileRowBytes);
      _tile_dpbf16ps(2, 4, 7);
      _tile_dpbf16ps(3, 5, 7);
    }
    which = 1 - which;
  }
  _tile_stored(0, sums, kTileRowBytes);
  _tile_stored(1, sums + kHalf, kTileRowBytes);
  if (kPanels > 1) _tile_stored(2, sums + kNarrowBlock, kTileRowBytes);
  if (kPanels > 1) _tile_stored(3, sums + kNarrowBlock + kHalf, kTileRowBytes);
}

inline void narrow_weights_gradient_tiles(const Bf16* src, const Bf16* diff_products,
                                          const NarrowShape& shape, std::int64_t points,
                                          float* sums) {
  constexpr std::int64_t kTurned = kNarrowTiles * kTileWords;
  constexpr std::int64_t kPoints = kNarrowTiles * kTileRows;
  alignas(64) std::uint32_t turned[kNarrowPanels * kTurned];
  const Bf16* rows[kPoints + kTileRows];
  const TileUse use;
  for (std::int64_t first = 0; first < points; first += kPoints) {
    const std::int64_t count = points - first < kPoints ? points - first : kPoints;
    const std::int64_t tiles = (count + kTileRows - 1) / kTileRows;
    for (std::int64_t i = 0; i < (tiles + 1) * kTileRows; ++i) {
      rows[i] = i < count ? diff_products + (first + i) * NarrowShape::kPlaces : nullptr;
    }
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      turn_tiles(rows + tile * kTileRows, NarrowShape::kPlaces, turned + tile * kTileWords,
                 kTurned);
    }
    const Bf16* const from = src + first * shape.point_step;
    const Bf16* ahead = from + count * shape.point_step;
    std::int64_t block = 0;
    for (; block + 2 <= shape.blocks; block += 2) {
      add_narrow_column<2>(from + block * kLanes, shape.point_step, count, turned, ahead,
                           sums + block * kNarrowBlock);
    }
    if (block == shape.blocks) continue;
    add_narrow_column<1>(from + block * kLanes, shape.point_step, count, turned, ahead,
                         sums + block * kNarrowBlock);
  }
}

}  // namespace
}  // namespace nn
