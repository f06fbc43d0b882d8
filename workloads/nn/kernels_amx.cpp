// Products of bfloat16 numbers in the CPU's matrix tiles (AMX).
// Hides the compiler flags (CMakeLists.txt), the tiles' shapes and their numbers. As in
// kernels_body.h, everything has internal linkage and calls nothing from the standard library.
#include <immintrin.h>

#include "workloads/nn/bf16_pairs.h"
#include "workloads/nn/kernels.h"
#include "workloads/nn/kernels_lines.h"
#include "workloads/nn/kernels_tiles.h"

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
/// tile 7 half of each.
enum class HalfTiles { kNone, kTwo };
class TileUse {
 public:
  explicit TileUse(HalfTiles halves = HalfTiles::kNone) {
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
    swap_groups<8, kLanes>(words);
    swap_groups<4, kLanes>(words);
    swap_groups<2, kLanes>(words);
    swap_groups<1, kLanes>(words);
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

void multiply_tiles(const Bf16Tiles::Operands& of, const Bf16Tiles::Sums& c, bool add) {
  const TileUse use;
  if (of.panels == 1) return multiply_panels<1>(of, c, add);
  if (of.panels == 2) return multiply_panels<2>(of, c, add);
  if (of.panels == 3) return multiply_panels<3>(of, c, add);
  multiply_panels<Bf16Tiles::kPanels>(of, c, add);
}

/// Products of 16 windows in tiles 0 to 3, one of kPanels panels each.
template <int kPanels>
void sum_windows(const Bf16* met, const std::uint32_t* weights, const Bf16Tiles::Windows& of) {
  const std::int64_t step_bytes = of.point_step * static_cast<std::int64_t>(sizeof(Bf16));
  const std::int64_t panel = of.panel_words;
  _tile_zero(0);
  if (kPanels > 1) _tile_zero(1);
  if (kPanels > 2) _tile_zero(2);
  if (kPanels > 3) _tile_zero(3);
  for (std::int64_t line = 0; line < of.lines; ++line, met += of.line_step) {
    const Bf16* part = met;
    const Bf16* const end = met + of.parts * kTileRows;
    for (; part < end; part += kTileRows, weights += of.part_words) {
      _tile_loadd(4, part, step_bytes);
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
    if (!of.has_half) continue;
    _tile_loadd(7, part, step_bytes);
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
    weights += of.part_words;
  }
}

/// 16 windows, or the fewer that there are, to kPanels panels of channels.
template <int kPanels, bool kPasses>
void multiply_some_windows(const Bf16* met, const std::uint32_t* weights,
                           const Bf16Tiles::Windows& of, std::int64_t points, Bf16* dst) {
  constexpr int kChannels = kPanels * kLanes;
  sum_windows<kPanels>(met, weights, of);
  alignas(64) float sums[kLanes * kChannels];
  constexpr std::int64_t kSumBytes = kChannels * static_cast<std::int64_t>(sizeof(float));
  _tile_stored(0, sums, kSumBytes);
  if (kPanels > 1) _tile_stored(1, sums + kLanes, kSumBytes);
  if (kPanels > 2) _tile_stored(2, sums + 2 * kLanes, kSumBytes);
  if (kPanels > 3) _tile_stored(3, sums + 3 * kLanes, kSumBytes);
  for (std::int64_t point = 0; point < points; ++point) {
    Bf16* const to = dst + point * of.dst_point_step;
    const float* const from = sums + point * kChannels;
    for (int channel = 0; channel < kChannels; channel += (kPasses ? 2 : 1) * kLanes) {
      const Lanes first = Full::load(from + channel, kLanes);
      if constexpr (kPasses) {
        const Lanes line[2] = {first, Full::load(from + channel + kLanes, kLanes)};
        stream_line(to + channel, line);
      } else {
        Full::store(to + channel, first, kLanes);
      }
    }
  }
}

template <bool kPasses>
void multiply_some_windows(const Bf16* met, const std::uint32_t* weights,
                           const Bf16Tiles::Windows& of, std::int64_t points, Bf16* dst) {
  for (std::int64_t channel = 0; channel < of.channels;) {
    const std::uint32_t* const panels = weights + channel / kLanes * of.panel_words;
    const std::int64_t left = of.channels - channel;
    Bf16* const to = dst + channel;
    channel += Bf16Tiles::kPanels * kLanes;
    if (left >= 4 * kLanes) {
      multiply_some_windows<4, kPasses>(met, panels, of, points, to);
    } else if (left == 3 * kLanes) {
      multiply_some_windows<3, false>(met, panels, of, points, to);
    } else if (left == 2 * kLanes) {
      multiply_some_windows<2, kPasses>(met, panels, of, points, to);
    } else {
      multiply_some_windows<1, false>(met, panels, of, points, to);
    }
  }
}

/// Behind each point but the last.
void fill_gaps(const Bf16Tiles::Windows& of, std::int64_t points, Bf16* row) {
  const auto bytes = static_cast<std::size_t>(of.dst_point_step - of.channels) * sizeof(Bf16);
  for (std::int64_t point = 0; point + 1 < points; ++point) {
    __builtin_memset(row + point * of.dst_point_step + of.channels, 0, bytes);
  }
}

/// Whether every point's channels are whole lines.
bool is_in_lines(const Bf16Tiles::Windows& of, const Bf16* dst) {
  constexpr std::int64_t kLine = kLineNumbers<Bf16>;
  return of.channels % kLine == 0 && of.dst_point_step % kLine == 0 &&
         of.dst_row_step % kLine == 0 && reinterpret_cast<std::uintptr_t>(dst) % kLineBytes == 0;
}

void multiply_windows(const Bf16* met, const std::uint32_t* weights, const Bf16Tiles::Windows& of,
                      std::int64_t rows, std::int64_t points, Bf16* dst) {
  constexpr std::int64_t kAhead = kAheadBytes / static_cast<std::int64_t>(sizeof(Bf16));
  const TileUse use(of.has_half ? HalfTiles::kTwo : HalfTiles::kNone);
  const bool passes = of.stores == Stores::kStreamed && is_in_lines(of, dst);
  for (std::int64_t row = 0; row < rows; ++row, met += of.row_step, dst += of.dst_row_step) {
    for (std::int64_t next = 0; next < points; next += kLanes) {
      // The last ones may be found twice.
      const std::int64_t x = next + kLanes <= points || points < kLanes ? next : points - kLanes;
      const Bf16* const first = met + x * of.point_step;
      for (std::int64_t i = 0; i < kLanes * of.point_step; i += kLineNumbers<Bf16>) {
        __builtin_prefetch(first + (of.lines - 1) * of.line_step + kAhead + i);
      }
      const std::int64_t count = points < kLanes ? points : kLanes;
      Bf16* const to = dst + x * of.dst_point_step;
      if (passes) {
        multiply_some_windows<true>(first, weights, of, count, to);
      } else {
        multiply_some_windows<false>(first, weights, of, count, to);
      }
    }
    if (of.fills_gaps) fill_gaps(of, points, dst);
  }
  finish_streams();
}

}  // namespace

namespace detail {
Bf16Tiles amx_tiles() { return {pack_tiles, turn_tiles, multiply_tiles, multiply_windows}; }
}  // namespace detail

}  // namespace nn
