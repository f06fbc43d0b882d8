// TileGemm in AMX tiles. Follows the rules of lanes.h.
#pragma once

#include "workloads/kernels/bf16_pairs.h"
#include "workloads/kernels/kernels.h"
#include "workloads/kernels/norms_streamed.h"
#include "workloads/kernels/tiling.h"
#include "workloads/kernels/transpose.h"

namespace nn {
namespace {

constexpr std::int64_t kTileRows = TileGemm::kRows;
constexpr std::int64_t kTileRowBytes = 64;

/// The operand of LDTILECFG.
struct alignas(64) TileShapes {
  std::uint8_t palette, start_row, reserved[14];
  std::uint16_t row_bytes[16];
  std::uint8_t rows[16];
};

/// TileUse configures the tiles for its lifetime: all have 16 rows of 64 bytes. With
/// HalfTiles::kTwo, tile 6 has 8 rows, and tile 7 rows of 32 bytes. With `points` below 16, tiles 0
/// to 4 and 7 have `points` rows.
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

/// 16 elements of a row, or those that `mask` selects; zeros if the row is null.
inline __m256i numbers_of(const Bf16* row, std::int64_t column, __mmask16 mask) {
  return _mm256_maskz_loadu_epi16(row == nullptr ? __mmask16{0} : mask, row + column);
}

/// Calls put(words, i) with the 16 x 16 pairs of the i-th 16 columns of 32 rows. Prefetches the 32
/// rows that follow, one row after the other: hardware prefetchers handle fewer streams.
template <class Put>
void for_each_pairs(const Bf16* const* rows, std::int64_t columns, const Put& put) {
  for (std::int64_t column = 0; column < columns; column += kLanes) {
    const std::int64_t left = columns - column;
    const auto mask = static_cast<__mmask16>(left < kLanes ? (1 << left) - 1 : 0xFFFF);
    if (column % kLineElements<Bf16> == 0) {
      const std::int64_t lines = (columns + kLineElements<Bf16> - 1) / kLineElements<Bf16>;
      const std::int64_t first = column / kLineElements<Bf16> * kTileRows;
      for (std::int64_t i = first; i < first + kTileRows; ++i) {
        __builtin_prefetch(rows[kTileRows + i / lines] + i % lines * kLineElements<Bf16>);
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

void pack_transposed(const Bf16* const* rows, std::int64_t columns, std::uint32_t* tiles,
                     std::int64_t stride) {
  for_each_pairs(rows, columns, [&](Words* words, std::int64_t i) {
    transpose_lanes(words);
    put_words(words, tiles + i * stride);
  });
}

/// Adds a product to tiles 0 to kPanels - 1. Tile 4 holds A; 5 to 7 hold B in turn.
template <int kPanels>
inline void add_steps(const std::uint32_t* a, const std::uint32_t* b, const GemmOperands& of) {
  for (std::int64_t step = 0; step < of.steps; ++step, a += kTileWords, b += kTileWords) {
    _tile_loadd(4, a, kTileRowBytes);
    _tile_loadd(5, b, kTileRowBytes);
    _tile_dpbf16ps(0, 4, 5);
    if (kPanels > 1) {
      _tile_loadd(6, b + of.b_panel, kTileRowBytes);
      _tile_dpbf16ps(1, 4, 6);
    }
    if (kPanels > 2) {
      _tile_loadd(7, b + 2 * of.b_panel, kTileRowBytes);
      _tile_dpbf16ps(2, 4, 7);
    }
    if (kPanels > 3) {
      _tile_loadd(5, b + 3 * of.b_panel, kTileRowBytes);
      _tile_dpbf16ps(3, 4, 5);
    }
  }
}

/// Tiles 0 to 3 hold sums.
template <int kPanels>
void multiply_panels(const GemmOperands& of, const GemmSums& sums, bool add) {
  const std::int64_t sum_bytes = sums.row * static_cast<std::int64_t>(sizeof(float));
  for (std::int64_t block = 0; block < of.blocks; ++block) {
    float* const to = sums.first + block * sums.block;
    if (add) {
      _tile_loadd(0, to, sum_bytes);
      if (kPanels > 1) _tile_loadd(1, to + sums.panel, sum_bytes);
      if (kPanels > 2) _tile_loadd(2, to + 2 * sums.panel, sum_bytes);
      if (kPanels > 3) _tile_loadd(3, to + 3 * sums.panel, sum_bytes);
    } else {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
    }
    for (std::int64_t i = 0; i < of.batch; ++i) {
      add_steps<kPanels>(of.a + block * of.a_block + of.offsets[i].a, of.b + of.offsets[i].b, of);
    }
    _tile_stored(0, to, sum_bytes);
    if (kPanels > 1) _tile_stored(1, to + sums.panel, sum_bytes);
    if (kPanels > 2) _tile_stored(2, to + 2 * sums.panel, sum_bytes);
    if (kPanels > 3) _tile_stored(3, to + 3 * sums.panel, sum_bytes);
  }
}

void multiply_tiles(const GemmOperands& of, const GemmSums& sums, bool add) {
  const TileUse use;
  if (of.panels == 1) return multiply_panels<1>(of, sums, add);
  if (of.panels == 2) return multiply_panels<2>(of, sums, add);
  if (of.panels == 3) return multiply_panels<3>(of, sums, add);
  multiply_panels<TileGemm::kPanels>(of, sums, add);
}

/// Adds a step of 16 windows to tiles 0 to kPanels - 1. Tile 4 holds windows, 5 weights.
template <int kPanels>
inline void add_window_step(const Bf16* src, std::int64_t row_bytes, const std::uint32_t* weights,
                            std::int64_t panel) {
  _tile_loadd(4, src, row_bytes);
  _tile_loadd(5, weights, kTileRowBytes);
  _tile_dpbf16ps(0, 4, 5);
  if (kPanels > 1) {
    _tile_loadd(5, weights + panel, kTileRowBytes);
    _tile_dpbf16ps(1, 4, 5);
  }
  if (kPanels > 2) {
    _tile_loadd(5, weights + 2 * panel, kTileRowBytes);
    _tile_dpbf16ps(2, 4, 5);
  }
  if (kPanels > 3) {
    _tile_loadd(5, weights + 3 * panel, kTileRowBytes);
    _tile_dpbf16ps(3, 4, 5);
  }
}

/// The same for half a step: tile 7 holds windows, 6 weights.
template <int kPanels>
inline void add_half_step(const Bf16* src, std::int64_t row_bytes, const std::uint32_t* weights,
                          std::int64_t panel) {
  _tile_loadd(7, src, row_bytes);
  _tile_loadd(6, weights, kTileRowBytes);
  _tile_dpbf16ps(0, 7, 6);
  if (kPanels > 1) {
    _tile_loadd(6, weights + panel, kTileRowBytes);
    _tile_dpbf16ps(1, 7, 6);
  }
  if (kPanels > 2) {
    _tile_loadd(6, weights + 2 * panel, kTileRowBytes);
    _tile_dpbf16ps(2, 7, 6);
  }
  if (kPanels > 3) {
    _tile_loadd(6, weights + 3 * panel, kTileRowBytes);
    _tile_dpbf16ps(3, 7, 6);
  }
}

/// sums [16][16 kPanels] = products of 16 windows.
template <int kPanels>
void sum_windows(const Bf16* src, const std::uint32_t* weights, const TileGemm::Windows& of,
                 float* sums) {
  const std::int64_t row_bytes = of.point_step * static_cast<std::int64_t>(sizeof(Bf16));
  _tile_zero(0);
  if (kPanels > 1) _tile_zero(1);
  if (kPanels > 2) _tile_zero(2);
  if (kPanels > 3) _tile_zero(3);
  for (std::int64_t line = 0; line < of.lines; ++line, src += of.line_step) {
    const Bf16* part = src;
    for (std::int64_t i = 0; i < of.parts; ++i, part += kTileRows, weights += of.part_words) {
      add_window_step<kPanels>(part, row_bytes, weights, of.panel_words);
    }
    if (!of.has_half) continue;
    add_half_step<kPanels>(part, row_bytes, weights, of.panel_words);
    weights += of.part_words;
  }
  constexpr std::int64_t kSumBytes = kPanels * kTileRowBytes;
  _tile_stored(0, sums, kSumBytes);
  if (kPanels > 1) _tile_stored(1, sums + kLanes, kSumBytes);
  if (kPanels > 2) _tile_stored(2, sums + 2 * kLanes, kSumBytes);
  if (kPanels > 3) _tile_stored(3, sums + 3 * kLanes, kSumBytes);
}

/// Multiplies `points` windows, at most 16, by kPanels panels of channels.
template <int kPanels, bool kStreams>
void multiply_panels_of_windows(const Bf16* src, const std::uint32_t* weights,
                                const TileGemm::Windows& of, std::int64_t points, Bf16* dst) {
  constexpr int kChannels = kPanels * kLanes;
  alignas(64) float sums[kLanes * kChannels];
  sum_windows<kPanels>(src, weights, of, sums);
  for (std::int64_t point = 0; point < points; ++point) {
    Bf16* const to = dst + point * of.channels;
    const float* const from = sums + point * kChannels;
    for (int channel = 0; channel < kChannels; channel += (kStreams ? 2 : 1) * kLanes) {
      const Lanes first = Full::load(from + channel, kLanes);
      if constexpr (kStreams) {
        const Lanes line[2] = {first, Full::load(from + channel + kLanes, kLanes)};
        stream_line(to + channel, line);
      } else {
        Full::store(to + channel, first, kLanes);
      }
    }
  }
}

template <bool kStreams>
void multiply_some_windows(const Bf16* src, const std::uint32_t* weights,
                           const TileGemm::Windows& of, std::int64_t points, Bf16* dst) {
  for (std::int64_t channel = 0; channel < of.channels;) {
    const std::uint32_t* const panels = weights + channel / kLanes * of.panel_words;
    const std::int64_t left = of.channels - channel;
    Bf16* const to = dst + channel;
    channel += TileGemm::kPanels * kLanes;
    if (left >= 4 * kLanes) {
      multiply_panels_of_windows<4, kStreams>(src, panels, of, points, to);
    } else if (left == 3 * kLanes) {
      multiply_panels_of_windows<3, false>(src, panels, of, points, to);
    } else if (left == 2 * kLanes) {
      multiply_panels_of_windows<2, kStreams>(src, panels, of, points, to);
    } else {
      multiply_panels_of_windows<1, false>(src, panels, of, points, to);
    }
  }
}

/// Prefetches the new elements of 16 windows. Of several image rows, the windows above have usually
/// read all but the last two.
inline void fetch_windows(const Bf16* src, const TileGemm::Windows& of) {
  constexpr std::int64_t kAhead = kAheadBytes / static_cast<std::int64_t>(sizeof(Bf16));
  for (std::int64_t line = of.lines > 1 ? of.lines - 2 : 0; line < of.lines; ++line) {
    const Bf16* const ahead = src + line * of.line_step + kAhead;
    for (std::int64_t i = 0; i < kLanes * of.point_step; i += kLineElements<Bf16>) {
      __builtin_prefetch(ahead + i, 0, 2);
    }
  }
}

void multiply_windows(const Bf16* src, const std::uint32_t* weights, const TileGemm::Windows& of,
                      std::int64_t rows, std::int64_t points, Bf16* dst) {
  const TileUse use(of.has_half ? HalfTiles::kTwo : HalfTiles::kNone, points);
  const bool streams = of.stores == Stores::kStreamed && of.channels % kLineElements<Bf16> == 0 &&
                       reinterpret_cast<std::uintptr_t>(dst) % kLineBytes == 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t next = 0; next < points; next += kLanes) {
      // Some of the last pixels may be computed twice.
      const std::int64_t x = next + kLanes <= points || points < kLanes ? next : points - kLanes;
      const Bf16* const first = src + row * of.row_step + x * of.point_step;
      fetch_windows(first, of);
      const std::int64_t count = points < kLanes ? points : kLanes;
      Bf16* const to = dst + (row * points + x) * of.channels;
      if (streams) {
        multiply_some_windows<true>(first, weights, of, count, to);
      } else {
        multiply_some_windows<false>(first, weights, of, count, to);
      }
    }
  }
  finish_streams();
}

constexpr TileGemm kTileGemm = {pack_tiles, pack_transposed, multiply_tiles, multiply_windows};

}  // namespace
}  // namespace nn
