// Products of windows of images in matrix tiles. As tile_panels.h.
// Hides which windows are multiplied together.
#pragma once

#include "workloads/kernels/tile_panels.h"

namespace nn {
namespace {

/// Products of a part of 16 windows are added to tiles 0 to 3, one of kPanels panels each. Rows of
/// a tile of weights stand kWeightBytes apart.
template <int kPanels, std::int64_t kWeightBytes>
inline void add_part(const Bf16* part, std::int64_t step_bytes, const std::uint32_t* weights,
                     std::int64_t panel) {
  _tile_loadd(4, part, step_bytes);
  _tile_loadd(5, weights, kWeightBytes);
  _tile_dpbf16ps(0, 4, 5);
  if (kPanels > 1) {
    _tile_loadd(5, weights + panel, kWeightBytes);
    _tile_dpbf16ps(1, 4, 5);
  }
  if (kPanels > 2) {
    _tile_loadd(5, weights + 2 * panel, kWeightBytes);
    _tile_dpbf16ps(2, 4, 5);
  }
  if (kPanels > 3) {
    _tile_loadd(5, weights + 3 * panel, kWeightBytes);
    _tile_dpbf16ps(3, 4, 5);
  }
}

/// The same of a half part.
template <int kPanels, std::int64_t kWeightBytes>
inline void add_half(const Bf16* part, std::int64_t step_bytes, const std::uint32_t* weights,
                     std::int64_t panel) {
  _tile_loadd(7, part, step_bytes);
  _tile_loadd(6, weights, kWeightBytes);
  _tile_dpbf16ps(0, 7, 6);
  if (kPanels > 1) {
    _tile_loadd(6, weights + panel, kWeightBytes);
    _tile_dpbf16ps(1, 7, 6);
  }
  if (kPanels > 2) {
    _tile_loadd(6, weights + 2 * panel, kWeightBytes);
    _tile_dpbf16ps(2, 7, 6);
  }
  if (kPanels > 3) {
    _tile_loadd(6, weights + 3 * panel, kWeightBytes);
    _tile_dpbf16ps(3, 7, 6);
  }
}

/// Products of 16 windows in tiles 0 to 3.
template <int kPanels, std::int64_t kWeightBytes = kTileRowBytes>
void sum_windows(const Bf16* met, const std::uint32_t* weights, const Bf16Tiles::Windows& of) {
  const std::int64_t step_bytes = of.point_step * static_cast<std::int64_t>(sizeof(Bf16));
  _tile_zero(0);
  if (kPanels > 1) _tile_zero(1);
  if (kPanels > 2) _tile_zero(2);
  if (kPanels > 3) _tile_zero(3);
  const auto add_half_at = [&](const Bf16* part) {
    add_half<kPanels, kWeightBytes>(part, step_bytes, weights, of.panel_words);
    weights += of.part_words;
  };
  for (std::int64_t line = 0; line < of.lines; ++line, met += of.line_step) {
    const Bf16* part = met;
    for (std::int64_t i = 0; i < of.parts; ++i, part += kTileRows, weights += of.part_words) {
      add_part<kPanels, kWeightBytes>(part, step_bytes, weights, of.panel_words);
    }
    if (of.has_half) add_half_at(part);
  }
}

/// 16 windows' products with kPanels panels of channels, [16][channels].
template <int kPanels>
void keep_sums(const Bf16* met, const std::uint32_t* weights, const Bf16Tiles::Windows& of,
               float* sums) {
  sum_windows<kPanels>(met, weights, of);
  constexpr std::int64_t kSumBytes = kPanels * kTileRowBytes;
  _tile_stored(0, sums, kSumBytes);
  if (kPanels > 1) _tile_stored(1, sums + kLanes, kSumBytes);
  if (kPanels > 2) _tile_stored(2, sums + 2 * kLanes, kSumBytes);
  if (kPanels > 3) _tile_stored(3, sums + 3 * kLanes, kSumBytes);
}

/// 16 windows to points side by side, which have these channels alone and together are lines.
template <int kPanels>
void stream_some_windows(const Bf16* met, const std::uint32_t* weights,
                         const Bf16Tiles::Windows& of, Bf16* dst) {
  constexpr int kNumbers = kLanes * kPanels * kLanes;
  alignas(64) float sums[kNumbers];
  keep_sums<kPanels>(met, weights, of, sums);
  for (int i = 0; i < kNumbers; i += kLineNumbers<Bf16>) {
    const Lanes line[2] = {Full::load(sums + i, kLanes), Full::load(sums + i + kLanes, kLanes)};
    stream_line(dst + i, line);
  }
}

/// 16 windows, or the fewer that there are, to kPanels panels of channels.
template <int kPanels, bool kPasses>
void multiply_some_windows(const Bf16* met, const std::uint32_t* weights,
                           const Bf16Tiles::Windows& of, std::int64_t points, Bf16* dst) {
  constexpr int kChannels = kPanels * kLanes;
  alignas(64) float sums[kLanes * kChannels];
  keep_sums<kPanels>(met, weights, of, sums);
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

/// Whether every point's channels are whole lines.
bool is_in_lines(const Bf16Tiles::Windows& of, const Bf16* dst) {
  constexpr std::int64_t kLine = kLineNumbers<Bf16>;
  return of.channels % kLine == 0 && of.dst_point_step % kLine == 0 &&
         of.dst_row_step % kLine == 0 && reinterpret_cast<std::uintptr_t>(dst) % kLineBytes == 0;
}

void multiply_windows(const Bf16* met, const std::uint32_t* weights, const Bf16Tiles::Windows& of,
                      std::int64_t rows, std::int64_t points, Bf16* dst) {
  constexpr std::int64_t kAhead = kAheadBytes / static_cast<std::int64_t>(sizeof(Bf16));
  const TileUse use(of.has_half ? HalfTiles::kTwo : HalfTiles::kNone, points);
  const bool passes = of.stores == Stores::kStreamed && is_in_lines(of, dst);
  const bool is_dense = of.stores == Stores::kStreamed && of.dst_point_step == of.channels;
  for (std::int64_t row = 0; row < rows; ++row, met += of.row_step, dst += of.dst_row_step) {
    for (std::int64_t next = 0; next < points; next += kLanes) {
      // The last ones may be found twice.
      const std::int64_t x = next + kLanes <= points || points < kLanes ? next : points - kLanes;
      const Bf16* const first = met + x * of.point_step;
      // Of windows of several lines, the rows above have met all but the last two, as a rule.
      const std::int64_t new_line = of.lines > 1 ? of.lines - 2 : 0;
      for (std::int64_t line = new_line; line < of.lines; ++line) {
        const Bf16* const ahead = first + line * of.line_step + kAhead;
        for (std::int64_t i = 0; i < kLanes * of.point_step; i += kLineNumbers<Bf16>) {
          __builtin_prefetch(ahead + i, 0, 2);
        }
      }
      const std::int64_t count = points < kLanes ? points : kLanes;
      Bf16* const to = dst + x * of.dst_point_step;
      const bool are_lines =
          is_dense && count == kLanes && reinterpret_cast<std::uintptr_t>(to) % kLineBytes == 0;
      if (are_lines && of.channels == kLanes) {
        stream_some_windows<1>(first, weights, of, to);
      } else if (are_lines && of.channels == 3 * kLanes) {
        stream_some_windows<3>(first, weights, of, to);
      } else if (passes) {
        multiply_some_windows<true>(first, weights, of, count, to);
      } else {
        multiply_some_windows<false>(first, weights, of, count, to);
      }
    }
  }
  finish_streams();
}

}  // namespace
}  // namespace nn
