// Source of the volume kernels. Follows the rules of lanes.h.
#pragma once

#include "workloads/kernels/lanes.h"
#include "workloads/kernels/transpose.h"
#include "workloads/kernels/volume_forward.h"

namespace nn {
namespace {

constexpr std::int64_t kRowTaps = 9;
constexpr std::int64_t kPositions = 16;  ///< pooled voxels of a window

/// The source voxels around kPositions pooled ones, which are in rows of kColumns.
template <int kColumns>
struct Window {
  static constexpr std::int64_t kRows = kPositions / kColumns;
  static constexpr std::int64_t kRowPoints = 2 * kColumns + 2;
  static constexpr std::int64_t kPlaneRows = 2 * kRows + 2;
  static constexpr std::int64_t kPlanes = 4;
  static constexpr std::int64_t kPoints = kPlanes * kPlaneRows * kRowPoints;
  static_assert(kPoints * kLanes <= VolumeKernels::kScratchFloats);
};

/// Gradients of a window's pooled voxels for 16 channels, and the offsets in the window where their
/// maxima were taken from: [16 channels][kPositions].
struct Chosen {
  alignas(64) float gradients[kLanes * kPositions];
  alignas(64) std::int32_t offsets[kLanes * kPositions];
  std::int64_t count = 0;
  const float* gradients_of(int lane) const { return gradients + lane * kPositions; }
  const std::int32_t* offsets_of(int lane) const { return offsets + lane * kPositions; }
};

inline Words widened_choice(const PoolChoice* from) {
  using Bytes = std::uint8_t __attribute__((vector_size(16), aligned(1)));
  Bytes bytes;
  __builtin_memcpy(&bytes, from, sizeof bytes);
#if defined(__AVX512F__)
  return reinterpret_cast<Words>(
      _mm512_maskz_cvtepu8_epi32(0xFFFF, reinterpret_cast<__m128i>(bytes)));
#else
  return __builtin_convertvector(bytes, Words);
#endif
}

/// The pooled voxels of a strip: columns [column, column + columns) of rows [row, row + rows).
struct Strip {
  std::int64_t plane, row, rows, column, columns;
};

template <int kColumns>
Strip strip_of(const Volume& volume, const PooledRow& at, std::int64_t column) {
  const std::int64_t rows_left = volume.height / 2 - at.row;
  const std::int64_t columns_left = volume.width / 2 - column;
  constexpr std::int64_t kRows = Window<kColumns>::kRows;
  return {at.plane, at.row, rows_left < kRows ? rows_left : kRows, column,
          columns_left < kColumns ? columns_left : kColumns};
}

/// Reads the gradients of a strip's voxels for the channels of `block`, through the LeakyReLU.
/// step: floats from one voxel of the window to the next.
template <int kColumns, class T>
void choose(const VolumeBackward<T>& call, const Strip& strip, std::int64_t block,
            std::uint32_t step, Chosen& chosen) {
  using Around = Window<kColumns>;
  const Volume& volume = call.volume;
  alignas(64) float rows[kPositions * kLanes] = {};
  alignas(64) float places[kPositions * kLanes] = {};
  const Lanes slope = zero() + call.slope;
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < strip.rows; ++row) {
    for (std::int64_t column = 0; column < strip.columns; ++column, ++count) {
      const std::int64_t plane = strip.plane, in_plane = strip.row + row;
      const std::int64_t at = strip.column + column;
      const Lanes gradient = Full::load(
          call.diff_dst.first +
              (plane * call.diff_dst.plane + in_plane * call.diff_dst.row + at) * volume.out +
              block * kLanes,
          kLanes);
      const std::int64_t point = (plane * (volume.height / 2) + in_plane) * (volume.width / 2) + at;
      const Words choice = widened_choice(call.choice + point * volume.out + block * kLanes);
      const Mask passed = (choice & 8u) != 0u;
      Full::store(rows + count * kLanes, passed ? gradient : gradient * slope, kLanes);
      constexpr std::uint32_t kRow = Around::kRowPoints;
      constexpr std::uint32_t kPlane = Around::kPlaneRows * Around::kRowPoints;
      const auto corner = static_cast<std::uint32_t>(2 * row * Around::kRowPoints + 2 * column);
      const Words place =
          ((choice & 1u) + (choice >> 1 & 1u) * kRow + (choice >> 2 & 1u) * kPlane + corner) * step;
      __builtin_memcpy(places + count * kLanes, &place, sizeof place);
    }
  }
  chosen.count = count;
  transpose_tile(rows, chosen.gradients);
  // Moving integers as floats is safe: transposition only moves bits.
  alignas(64) float turned[kLanes * kPositions];
  transpose_tile(places, turned);
  __builtin_memcpy(chosen.offsets, turned, sizeof turned);
}

/// Calls copy(from, place, voxels) for each row of source voxels around a strip: `from` is the
/// first voxel, `place` its index in the window.
template <int kColumns, class T, class Copy>
void for_each_row(const VolumeBackward<T>& call, const Strip& strip, const Copy& copy) {
  using Around = Window<kColumns>;
  const Volume& volume = call.volume;
  for (std::int64_t plane = 0; plane < Around::kPlanes; ++plane) {
    for (std::int64_t row = 0; row < 2 * strip.rows + 2; ++row) {
      const T* from = call.src + ((2 * strip.plane + plane) * volume.plane_points() +
                                  (2 * strip.row + row) * volume.row_points() + 2 * strip.column) *
                                     volume.in;
      copy(from, (plane * Around::kPlaneRows + row) * Around::kRowPoints, 2 * strip.columns + 2);
    }
  }
}

/// Copies 16 channels from `channel` on into a window of 16 channels.
template <int kColumns, class T>
void gather_block(const VolumeBackward<T>& call, const Strip& strip, std::int64_t channel,
                  float* window) {
  const std::int64_t in = call.volume.in;
  for_each_row<kColumns>(call, strip, [&](const T* from, std::int64_t place, std::int64_t points) {
    for (std::int64_t point = 0; point < points; ++point) {
      Full::store(window + (place + point) * kLanes,
                  Full::load(from + point * in + channel, kLanes), kLanes);
    }
  });
}

/// Copies all channels, voxel by voxel.
template <int kColumns, class T>
void gather_all(const VolumeBackward<T>& call, const Strip& strip, float* window) {
  const std::int64_t in = call.volume.in;
  for_each_row<kColumns>(call, strip, [&](const T* from, std::int64_t place, std::int64_t points) {
    for_each_piece(points * in, [&](const auto& access, std::int64_t at, int width) {
      access.store(window + place * in + at, access.load(from + at, width), width);
    });
  });
}

/// Adds to sums [27][16] of one output channel and 16 input channels.
template <int kColumns>
void add_taps(const float* window, const float* gradients, const std::int32_t* offsets,
              std::int64_t count, float* sums) {
  using Around = Window<kColumns>;
  Lanes taps[Volume::kTaps];
  for (int tap = 0; tap < Volume::kTaps; ++tap) taps[tap] = Full::load(sums + tap * kLanes, kLanes);
  for (std::int64_t i = 0; i < count; ++i) {
    const float* const at = window + offsets[i];
    const Lanes gradient = zero() + gradients[i];
#pragma GCC unroll 3
    for (int plane = 0; plane < 3; ++plane) {
#pragma GCC unroll 3
      for (int row = 0; row < 3; ++row) {
#pragma GCC unroll 3
        for (int point = 0; point < 3; ++point) {
          taps[(plane * 3 + row) * 3 + point] +=
              gradient *
              Full::load(
                  at + ((plane * Around::kPlaneRows + row) * Around::kRowPoints + point) * kLanes,
                  kLanes);
        }
      }
    }
  }
  for (int tap = 0; tap < Volume::kTaps; ++tap) Full::store(sums + tap * kLanes, taps[tap], kLanes);
}

/// Adds to sums [9][16] of one output channel: three adjacent voxels of `step` channels at a time.
template <int kColumns>
void add_row_taps(const float* window, std::int64_t step, const float* gradients,
                  const std::int32_t* offsets, std::int64_t count, float* sums) {
  using Around = Window<kColumns>;
  Lanes taps[kRowTaps];
  for (int tap = 0; tap < kRowTaps; ++tap) taps[tap] = Full::load(sums + tap * kLanes, kLanes);
  const std::int64_t row = Around::kRowPoints * step, plane = Around::kPlaneRows * row;
  for (std::int64_t i = 0; i < count; ++i) {
    const float* const at = window + offsets[i];
    const Lanes gradient = zero() + gradients[i];
#pragma GCC unroll 9
    for (int tap = 0; tap < kRowTaps; ++tap) {
      taps[tap] += gradient * Full::load(at + tap / 3 * plane + tap % 3 * row, kLanes);
    }
  }
  for (int tap = 0; tap < kRowTaps; ++tap) Full::store(sums + tap * kLanes, taps[tap], kLanes);
}

inline void add_biases(const Chosen& chosen, float* bias_sums) {
  for (int lane = 0; lane < kLanes; ++lane) {
    float sum = 0.0F;
    for (std::int64_t i = 0; i < chosen.count; ++i) sum += chosen.gradients_of(lane)[i];
    bias_sums[lane] += sum;
  }
}

template <int kColumns, class T>
void narrow_weights_gradient(const VolumeBackward<T>& call, const PooledRow& row,
                             std::int64_t block, float* sums, float* bias_sums, float* scratch) {
  const Volume& volume = call.volume;
  Chosen chosen;
  for (std::int64_t column = 0; column < volume.width / 2; column += kColumns) {
    const Strip strip = strip_of<kColumns>(volume, row, column);
    choose<kColumns>(call, strip, block, static_cast<std::uint32_t>(volume.in), chosen);
    gather_all<kColumns>(call, strip, scratch);
    for (int lane = 0; lane < kLanes; ++lane) {
      add_row_taps<kColumns>(scratch, volume.in, chosen.gradients_of(lane), chosen.offsets_of(lane),
                             chosen.count, sums + lane * volume.backward_weight_floats());
    }
    add_biases(chosen, bias_sums);
  }
}

template <int kColumns, class T>
void weights_gradient_of(const VolumeBackward<T>& call, const PooledRow& row, std::int64_t block,
                         float* sums, float* bias_sums, float* scratch) {
  const Volume& volume = call.volume;
  if (volume.is_narrow()) {
    return narrow_weights_gradient<kColumns>(call, row, block, sums, bias_sums, scratch);
  }
  Chosen chosen;
  for (std::int64_t column = 0; column < volume.width / 2; column += kColumns) {
    const Strip strip = strip_of<kColumns>(volume, row, column);
    choose<kColumns>(call, strip, block, kLanes, chosen);
    for (std::int64_t in = 0; in < volume.in_blocks(); ++in) {
      gather_block<kColumns>(call, strip, in * kLanes, scratch);
      for (int lane = 0; lane < kLanes; ++lane) {
        add_taps<kColumns>(
            scratch, chosen.gradients_of(lane), chosen.offsets_of(lane), chosen.count,
            sums + lane * volume.backward_weight_floats() + in * Volume::kTaps * kLanes);
      }
    }
    add_biases(chosen, bias_sums);
  }
}

/// window += gradients times weights [27][16], around the voxels of the maxima.
template <int kColumns>
void spread_taps(float* window, const float* gradients, const std::int32_t* offsets,
                 std::int64_t count, const float* weights) {
  using Around = Window<kColumns>;
  Lanes taps[Volume::kTaps];
  for (int tap = 0; tap < Volume::kTaps; ++tap)
    taps[tap] = Full::load(weights + tap * kLanes, kLanes);
  for (std::int64_t i = 0; i < count; ++i) {
    float* const at = window + offsets[i];
    const Lanes gradient = zero() + gradients[i];
#pragma GCC unroll 3
    for (int plane = 0; plane < 3; ++plane) {
#pragma GCC unroll 3
      for (int row = 0; row < 3; ++row) {
#pragma GCC unroll 3
        for (int point = 0; point < 3; ++point) {
          float* const place =
              at + ((plane * Around::kPlaneRows + row) * Around::kRowPoints + point) * kLanes;
          Full::store(place,
                      Full::load(place, kLanes) + gradient * taps[(plane * 3 + row) * 3 + point],
                      kLanes);
        }
      }
    }
  }
}

template <int kColumns>
void source_gradient_of(const VolumeBackward<float>& call, const PooledRow& row, std::int64_t block,
                        const float* weights, float* diff_src, float* scratch) {
  using Around = Window<kColumns>;
  const Volume& volume = call.volume;
  Chosen chosen;
  for (std::int64_t column = 0; column < volume.width / 2; column += kColumns) {
    const Strip strip = strip_of<kColumns>(volume, row, column);
    __builtin_memset(scratch, 0, sizeof(float) * Around::kPoints * kLanes);
    for (std::int64_t out = 0; out < volume.out_blocks(); ++out) {
      choose<kColumns>(call, strip, out, kLanes, chosen);
      for (int lane = 0; lane < kLanes; ++lane) {
        spread_taps<kColumns>(scratch, chosen.gradients_of(lane), chosen.offsets_of(lane),
                              chosen.count,
                              weights + ((out * kLanes + lane) * volume.in_blocks() + block) *
                                            Volume::kTaps * kLanes);
      }
    }
    for (std::int64_t plane = 0; plane < Around::kPlanes; ++plane) {
      for (std::int64_t line = 0; line < 2 * strip.rows + 2; ++line) {
        float* to = diff_src +
                    ((2 * strip.plane + plane) * volume.plane_points() +
                     (2 * strip.row + line) * volume.row_points() + 2 * strip.column) *
                        volume.in +
                    block * kLanes;
        const float* from =
            scratch + (plane * Around::kPlaneRows + line) * Around::kRowPoints * kLanes;
        for (std::int64_t point = 0; point < 2 * strip.columns + 2; ++point) {
          Full::store(to + point * volume.in,
                      Full::load(to + point * volume.in, kLanes) +
                          Full::load(from + point * kLanes, kLanes),
                      kLanes);
        }
      }
    }
  }
}

/// Columns of a window for the volume.
inline int columns_of(const Volume& volume) {
  return static_cast<int>(kPositions / strip_rows(volume));
}

template <class T>
void weights_gradient(const VolumeBackward<T>& call, const PooledRow& row, std::int64_t block,
                      float* sums, float* bias_sums, float* scratch) {
  switch (columns_of(call.volume)) {
    case 16:
      return weights_gradient_of<16>(call, row, block, sums, bias_sums, scratch);
    case 8:
      return weights_gradient_of<8>(call, row, block, sums, bias_sums, scratch);
    case 4:
      return weights_gradient_of<4>(call, row, block, sums, bias_sums, scratch);
    case 2:
      return weights_gradient_of<2>(call, row, block, sums, bias_sums, scratch);
    default:
      return weights_gradient_of<1>(call, row, block, sums, bias_sums, scratch);
  }
}

inline void source_gradient(const VolumeBackward<float>& call, const PooledRow& row,
                            std::int64_t block, const float* weights, float* diff_src,
                            float* scratch) {
  switch (columns_of(call.volume)) {
    case 16:
      return source_gradient_of<16>(call, row, block, weights, diff_src, scratch);
    case 8:
      return source_gradient_of<8>(call, row, block, weights, diff_src, scratch);
    case 4:
      return source_gradient_of<4>(call, row, block, weights, diff_src, scratch);
    case 2:
      return source_gradient_of<2>(call, row, block, weights, diff_src, scratch);
    default:
      return source_gradient_of<1>(call, row, block, weights, diff_src, scratch);
  }
}

constexpr VolumeKernels kVolumes = {forward_rows<FloatPoints>, nullptr,
                                    forward_widened,           weights_gradient<float>,
                                    weights_gradient<Bf16>,    source_gradient};

}  // namespace
}  // namespace nn
