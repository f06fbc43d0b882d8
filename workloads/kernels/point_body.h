// Products of channels, in tiles that stay in registers. As kernels_body.h, whose part it is:
// compiled once per instruction set, internal linkage, nothing of the standard library.
// Hides the tiles.
#pragma once

#include "workloads/kernels/matrix_body.h"
#include "workloads/kernels/memory_lines.h"

namespace nn {
namespace {

using ChannelPoints = PointKernels::Points;

/// Lines, `step` numbers apart, one for every `points` points of a tile.
struct LinesAhead {
  const float* first;
  std::int64_t step, points;
};

/// What the tile of number `tile` fetches: a part of the points of a block, of which each has
/// `parts`.
inline LinesAhead lines_ahead(const ChannelPoints& in, const ChannelPoints& out, std::int64_t count,
                              std::int64_t tile, std::int64_t parts) {
  const std::int64_t block = tile / parts, point = tile % parts * count / parts;
  const auto of = [&](const ChannelPoints& points, std::int64_t from) -> LinesAhead {
    return {points.next + from * points.block_step + point * points.point_step, points.point_step,
            parts};
  };
  if (block < in.blocks && in.next != nullptr) return of(in, block);
  const bool is_out = block >= in.blocks && block < in.blocks + out.blocks;
  if (is_out && out.next != nullptr) return of(out, block - in.blocks);
  return {nullptr, 0, count};
}

/// Neighbouring channels of `in`, of which the first one's point is at `in`, and blocks of `out`.
/// sums: from one block to the next block_step numbers.
template <int kIn, int kOut>
void sum_tile(const float* in, std::int64_t in_step, const float* out, const ChannelPoints& outs,
              std::int64_t count, float* to, std::int64_t block_step, LinesAhead ahead, bool add) {
  Lanes sums[kIn][kOut] = {};
  if (add) {
    for (int i = 0; i < kIn; ++i) {
      for (int j = 0; j < kOut; ++j) {
        sums[i][j] = Full::load(to + j * block_step + i * kLanes, kLanes);
      }
    }
  }
  std::int64_t until_next = 1;
  for (std::int64_t point = 0; point < count; ++point) {
    if (--until_next == 0) {
      __builtin_prefetch(ahead.first, 0, 2);
      ahead.first += ahead.step;
      until_next = ahead.points;
    }
    Lanes right[kOut];
    for (int j = 0; j < kOut; ++j) right[j] = Full::load(out + j * outs.block_step, kLanes);
    for (int i = 0; i < kIn; ++i) {
      for (int j = 0; j < kOut; ++j) sums[i][j] += right[j] * in[i];
    }
    in += in_step;
    out += outs.point_step;
  }
  for (int i = 0; i < kIn; ++i) {
    for (int j = 0; j < kOut; ++j) {
      Full::store(to + j * block_step + i * kLanes, sums[i][j], kLanes);
    }
  }
}

inline void sum_products(const ChannelPoints& in, const ChannelPoints& out, std::int64_t count,
                         float* sums, bool add) {
  constexpr std::int64_t kBlock = PointKernels::kBlock;
  const std::int64_t channels = in.blocks * kBlock, block_step = channels * kBlock;
  const std::int64_t tiles = (out.blocks + kMatrixTile - 1) / kMatrixTile * channels / kMatrixTile;
  const std::int64_t fitting = tiles / (in.blocks + out.blocks), parts = fitting < 1 ? 1 : fitting;
  std::int64_t tile = 0;
  for_each_group(out.blocks, [&](std::int64_t block, auto blocks) {
    for (std::int64_t channel = 0; channel < channels; channel += kMatrixTile, ++tile) {
      sum_tile<kMatrixTile, blocks.kCount>(
          in.first + channel / kBlock * in.block_step + channel % kBlock, in.point_step,
          out.first + block * out.block_step, out, count,
          sums + block * block_step + channel * kBlock, block_step,
          lines_ahead(in, out, count, tile, parts), add);
    }
  });
}

#if defined(__AVX512F__)
constexpr int kTilePoints = 6;
#else
constexpr int kTilePoints = 2;
#endif

/// A block's line, and zeros behind it as far as the next point's, or the end.
inline void write_point(const Lanes& value, const PointKernels::Written& out, std::int64_t block,
                        std::int64_t point, bool is_last) {
  const bool passes = out.stores == Stores::kStreamed;
  const std::int64_t at = point * out.point_step, end = is_last ? out.end : at + out.point_step;
  float* const to = out.first + block * out.block_step;
  const Lanes zeros[1] = {}, values[1] = {value};
  store_line(to + at, values, passes);
  for (std::int64_t i = at + kLanes; i < end; i += kLanes) store_line(to + i, zeros, passes);
}

/// Of points from `point` on and blocks of `out` from `block` on.
template <int kCount, int kOut>
void multiply_points(const ChannelPoints& in, std::int64_t point, std::int64_t count,
                     const float* weights, const PointKernels::Written& out, std::int64_t block) {
  constexpr std::int64_t kBlock = PointKernels::kBlock;
  const std::int64_t weights_step = in.blocks * kBlock * kBlock;
  const float* weight = weights + block * weights_step;
  Lanes sums[kCount][kOut] = {};
  for (std::int64_t from = 0; from < in.blocks; ++from) {
    const float* channel = in.first + from * in.block_step + point * in.point_step;
    for (int k = 0; k < kBlock; ++k, weight += kLanes, ++channel) {
      Lanes factors[kOut];
      for (int j = 0; j < kOut; ++j) factors[j] = Full::load(weight + j * weights_step, kLanes);
      for (int i = 0; i < kCount; ++i) {
        const float value = channel[i * in.point_step];
        for (int j = 0; j < kOut; ++j) sums[i][j] += factors[j] * value;
      }
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < kOut; ++j) {
#pragma GCC unroll 6
    for (int i = 0; i < kCount; ++i) {
      write_point(sums[i][j], out, block + j, point + i, point + i + 1 == count);
    }
  }
}

/// What is read some tiles later, in the row at hand or the next.
template <int kCount>
void fetch_points(const ChannelPoints& in, std::int64_t point, std::int64_t count) {
  constexpr std::int64_t kAhead = 4 * kTilePoints;
  const std::int64_t ahead = point + kAhead;
  const bool is_next = ahead >= count;
  if (is_next && in.next == nullptr) return;
  const float* first =
      is_next ? in.next + (ahead - count) * in.point_step : in.first + ahead * in.point_step;
  for (std::int64_t block = 0; block < in.blocks; ++block, first += in.block_step) {
    for (int i = 0; i < kCount; ++i) __builtin_prefetch(first + i * in.point_step);
  }
}

inline void multiply_point_rows(const ChannelPoints& in, std::int64_t count, const float* weights,
                                const PointKernels::Written& out) {
  const auto make = [&](std::int64_t point, auto points) {
    fetch_points<points.kCount>(in, point, count);
    for_each_group(out.blocks, [&](std::int64_t block, auto blocks) {
      multiply_points<points.kCount, blocks.kCount>(in, point, count, weights, out, block);
    });
  };
  std::int64_t point = 0;
  for (; point + kTilePoints <= count; point += kTilePoints) make(point, Count<kTilePoints>());
  for (; point < count; ++point) make(point, Count<1>());
  if (out.stores == Stores::kStreamed) finish_streams();
}

constexpr PointKernels kPointProducts = {sum_products, multiply_point_rows};

}  // namespace
}  // namespace nn
