// Products of floats in AMX tiles: each float is the sum of three bfloat16 values (Henry, Tang &
// Heinecke, arXiv:1904.06376). Follows the rules of lanes.h.
#pragma once

#include "workloads/kernels/gemm_tiles.h"

namespace nn {
namespace {

constexpr std::int64_t kParts = Bf16x3Gemm::kParts;

/// 16 pairs of each part.
struct PartWords {
  __m512i words[kParts];
};

/// Splits 16 floats into the lower halves of pairs and 16 others into the upper halves. Every
/// remainder is exact in float, and after the last part it is zero.
inline PartWords parts_of(__m512 lower, __m512 upper) {
  const __m512i upper_halves = _mm512_set1_epi32(static_cast<int>(0xFFFF0000U));
  PartWords parts;
  for (std::int64_t part = 0; part < kParts; ++part) {
    const __m512i words = interleaved(reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(upper, lower)));
    parts.words[part] = words;
    if (part + 1 == kParts) break;
    lower = _mm512_sub_ps(lower, _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xFFFF, words, 16)));
    upper = _mm512_sub_ps(upper, _mm512_castsi512_ps(_mm512_and_si512(words, upper_halves)));
  }
  return parts;
}

inline PartWords parts_at(const Bf16x3Gemm::Rows& rows, std::int64_t row) {
  const auto floats_at = [&](const float* first) {
    if (first == nullptr) return _mm512_setzero_ps();
    __builtin_prefetch(first + row * rows.step + rows.ahead, 0, 2);
    return _mm512_loadu_ps(first + row * rows.step);
  };
  return parts_of(floats_at(rows.lower), floats_at(rows.upper));
}

void split_rows(const Bf16x3Gemm::Rows& rows, std::uint32_t* to, std::int64_t part_stride) {
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const PartWords parts = parts_at(rows, row);
    for (std::int64_t part = 0; part < kParts; ++part) {
      _mm512_storeu_si512(to + part * part_stride + row * kLanes, parts.words[part]);
    }
  }
}

void split_transposed_rows(const Bf16x3Gemm::Rows& rows, std::uint32_t* to,
                           std::int64_t part_stride) {
  Words words[kParts][kLanes];
  for (std::int64_t row = 0; row < kLanes; ++row) {
    const PartWords parts = parts_at(rows, row);
    for (std::int64_t part = 0; part < kParts; ++part) {
      words[part][row] = reinterpret_cast<Words>(parts.words[part]);
    }
  }
  for (std::int64_t part = 0; part < kParts; ++part) {
    transpose_lanes(words[part]);
    put_words(words[part], to + part * part_stride);
  }
}

/// Tiles 0 to 3 hold sums [block][panel]; 4 and 5 hold one part of each block, 6 and 7 one part of
/// each panel.
template <int kBlocks, int kPanels>
inline void add_products() {
  _tile_dpbf16ps(0, 4, 6);
  if (kPanels > 1) _tile_dpbf16ps(1, 4, 7);
  if (kBlocks > 1) _tile_dpbf16ps(2, 5, 6);
  if (kBlocks > 1 && kPanels > 1) _tile_dpbf16ps(3, 5, 7);
}

/// Load one part of a step: of up to two blocks of rows, or of up to two panels.
template <int kBlocks>
inline void load_blocks(const std::uint32_t* at) {
  _tile_loadd(4, at, kTileRowBytes);
  if (kBlocks > 1) _tile_loadd(5, at + kTileWords, kTileRowBytes);
}
template <int kPanels>
inline void load_panels(const std::uint32_t* at, std::int64_t panel_stride) {
  _tile_loadd(6, at, kTileRowBytes);
  if (kPanels > 1) _tile_loadd(7, at + panel_stride, kTileRowBytes);
}

/// Prefetches a tile into the L1 cache.
inline void fetch_tile(const std::uint32_t* at) {
  for (int row = 0; row < kLanes; ++row) __builtin_prefetch(at + row * kLanes);
}
template <int kBlocks>
inline void fetch_blocks(const std::uint32_t* at) {
  fetch_tile(at);
  if (kBlocks > 1) fetch_tile(at + kTileWords);
}
template <int kPanels>
inline void fetch_panels(const std::uint32_t* at, std::int64_t panel_stride) {
  fetch_tile(at);
  if (kPanels > 1) fetch_tile(at + panel_stride);
}

/// Adds the six products of parts that matter in float: the largest of the three omitted ones is
/// 2^-24 of the full product. Successive products differ in one operand. The tiles of the next step
/// are prefetched meanwhile: tile loads alone would bring them from the L2 cache at less than half
/// the rate of the products.
template <int kBlocks, int kPanels>
void add_steps_of_parts(const GemmOperands& of, const std::uint32_t* rows,
                        const std::uint32_t* columns) {
  const std::int64_t part = of.a_part, panel = of.b_panel;
  for (std::int64_t step = 0; step < of.steps; ++step) {
    const std::uint32_t* const next_rows = rows + of.a_step;
    const std::uint32_t* const next_columns = columns + kParts * kTileWords;
    load_blocks<kBlocks>(rows + 2 * part);
    load_panels<kPanels>(columns, panel);
    fetch_blocks<kBlocks>(next_rows + 2 * part);
    add_products<kBlocks, kPanels>();
    load_blocks<kBlocks>(rows + part);
    fetch_blocks<kBlocks>(next_rows + part);
    add_products<kBlocks, kPanels>();
    load_panels<kPanels>(columns + kTileWords, panel);
    fetch_panels<kPanels>(next_columns, panel);
    add_products<kBlocks, kPanels>();
    load_blocks<kBlocks>(rows);
    fetch_panels<kPanels>(next_columns + kTileWords, panel);
    add_products<kBlocks, kPanels>();
    load_panels<kPanels>(columns + 2 * kTileWords, panel);
    fetch_blocks<kBlocks>(next_rows);
    add_products<kBlocks, kPanels>();
    load_panels<kPanels>(columns, panel);
    fetch_panels<kPanels>(next_columns + 2 * kTileWords, panel);
    add_products<kBlocks, kPanels>();
    rows = next_rows;
    columns = next_columns;
  }
}

/// Computes the sums of up to two blocks and panels.
template <int kBlocks, int kPanels>
void multiply_square(const GemmOperands& of, const GemmSums& sums, std::int64_t block,
                     std::int64_t panel, bool add) {
  const std::int64_t bytes = sums.row * static_cast<std::int64_t>(sizeof(float));
  float* const to = sums.first + block * sums.block + panel * sums.panel;
  if (add) {
    _tile_loadd(0, to, bytes);
    if (kPanels > 1) _tile_loadd(1, to + sums.panel, bytes);
    if (kBlocks > 1) _tile_loadd(2, to + sums.block, bytes);
    if (kBlocks > 1 && kPanels > 1) _tile_loadd(3, to + sums.block + sums.panel, bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (std::int64_t i = 0; i < of.batch; ++i) {
    add_steps_of_parts<kBlocks, kPanels>(of, of.a + of.offsets[i].a + block * kTileWords,
                                         of.b + of.offsets[i].b + panel * of.b_panel);
  }
  _tile_stored(0, to, bytes);
  if (kPanels > 1) _tile_stored(1, to + sums.panel, bytes);
  if (kBlocks > 1) _tile_stored(2, to + sums.block, bytes);
  if (kBlocks > 1 && kPanels > 1) _tile_stored(3, to + sums.block + sums.panel, bytes);
}

void multiply_parts(const GemmOperands& of, const GemmSums& sums, bool add) {
  const TileUse use;
  for (std::int64_t panel = 0; panel < of.panels; panel += 2) {
    const bool has_two = panel + 1 < of.panels;
    for (std::int64_t block = 0; block < of.blocks; block += 2) {
      const auto multiply = block + 1 < of.blocks
                                ? (has_two ? multiply_square<2, 2> : multiply_square<2, 1>)
                                : (has_two ? multiply_square<1, 2> : multiply_square<1, 1>);
      multiply(of, sums, block, panel, add);
    }
  }
}

constexpr Bf16x3Gemm kBf16x3Gemm = {split_rows, split_transposed_rows, multiply_parts};

}  // namespace
}  // namespace nn
