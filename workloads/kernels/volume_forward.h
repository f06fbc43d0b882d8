// Computes a row of pooled voxels: each is the largest of eight sums of products. Follows the rules
// of lanes.h.
#pragma once

#include "workloads/kernels/lanes.h"
#include "workloads/kernels/volume_kernels.h"

namespace nn {
namespace {

/// Products of floats, of one input channel per step.
struct FloatPoints {
  using Value = float;
  static constexpr std::int64_t kChannels = 1;
  using Weights = Lanes;
  static Weights load(const float* weights) { return Full::load(weights, kLanes); }
  static void add(Lanes& sum, const Weights& weights, const float* src) { sum += weights * *src; }
};

inline void store_choice(PoolChoice* to, const Words& choice) {
  using Bytes = std::uint8_t __attribute__((vector_size(16), aligned(1)));
#if defined(__AVX512F__)
  const auto bytes = reinterpret_cast<Bytes>(
      _mm512_maskz_cvtepi32_epi8(0xFFFF, reinterpret_cast<__m512i>(choice)));
#else
  const auto bytes = __builtin_convertvector(choice, Bytes);
#endif
  __builtin_memcpy(to, &bytes, sizeof bytes);
}

constexpr int kPooled = 8;  ///< voxels that a maximum is taken of

/// Returns the maximum with bias and LeakyReLU, and stores its position to `choice` unless null. Of
/// equal sums the first is chosen; NaN wins.
inline Lanes pooled(const Lanes* sums, int stride, const float* bias, float slope,
                    PoolChoice* choice) {
  Lanes best = sums[0];
  Words place = {};
#pragma GCC unroll 7
  for (int point = 1; point < kPooled; ++point) {
    const Lanes& sum = sums[point * stride];
    const Mask larger = (sum > best) | (sum != sum);
    best = larger ? sum : best;
    place = larger ? Words{} + static_cast<std::uint32_t>(point) : place;
  }
  best += Full::load(bias, kLanes);
  const Mask passed = best > 0.0F;
  if (choice != nullptr) store_choice(choice, passed ? place | 8u : place);
  return passed ? best : best * slope;
}

/// The 4 x 4 source rows around a row of pooled voxels, from their first voxel on.
template <class T>
struct SourceLines {
  const T* first;
  std::int64_t next_row, next_plane;
};

template <class Value>
SourceLines<Value> lines_around(const VolumeForward<Value>& call, const PooledRow& row) {
  const Volume& volume = call.volume;
  const std::int64_t next_row = volume.row_points() * volume.in;
  const std::int64_t next_plane = volume.plane_points() * volume.in;
  return {call.src + 2 * row.plane * next_plane + 2 * row.row * next_row, next_row, next_plane};
}

/// all_weights: those of the whole volume, in the type of Products.
template <class Products, int kBlocks, class T>
void forward_row(const VolumeForward<T>& call, const SourceLines<typename Products::Value>& lines,
                 const typename Products::Value* all_weights, const PooledRow& row,
                 std::int64_t block) {
  using Value = typename Products::Value;
  const Volume& volume = call.volume;
  const std::int64_t steps = volume.in / Products::kChannels;
  const std::int64_t step_values = kLanes * Products::kChannels;
  const std::int64_t block_values = Volume::kTaps * steps * step_values;
  const std::int64_t next_row = lines.next_row, next_plane = lines.next_plane;
  const Value* const first_weights = all_weights + block * block_values;
  const auto place = [&](const auto& points, std::int64_t column, int i) {
    return points.first + (row.plane * points.plane + row.row * points.row + column) * volume.out +
           (block + i) * kLanes;
  };
  const std::int64_t point = (row.plane * (volume.height / 2) + row.row) * (volume.width / 2);
  for (std::int64_t column = 0; column < volume.width / 2; ++column) {
    Lanes sums[kPooled][kBlocks] = {};
    const Value* weights = first_weights;
    for (int plane = 0; plane < 3; ++plane) {
      for (int line = 0; line < 3; ++line) {
        for (int tap = 0; tap < 3; ++tap) {
          const Value* const src =
              lines.first + plane * next_plane + line * next_row + (2 * column + tap) * volume.in;
          const Value* const points[kPooled] = {src,
                                                src + volume.in,
                                                src + next_row,
                                                src + next_row + volume.in,
                                                src + next_plane,
                                                src + next_plane + volume.in,
                                                src + next_plane + next_row,
                                                src + next_plane + next_row + volume.in};
          for (std::int64_t step = 0; step < steps; ++step, weights += step_values) {
            typename Products::Weights factors[kBlocks];
            for (int i = 0; i < kBlocks; ++i)
              factors[i] = Products::load(weights + i * block_values);
#pragma GCC unroll 8
            for (int i = 0; i < kPooled; ++i) {
#pragma GCC unroll 2
              for (int j = 0; j < kBlocks; ++j) {
                Products::add(sums[i][j], factors[j], points[i] + step * Products::kChannels);
              }
            }
          }
        }
      }
    }
    for (int i = 0; i < kBlocks; ++i) {
      PoolChoice* const choice =
          call.choice == nullptr
              ? nullptr
              : call.choice + (point + column) * volume.out + (block + i) * kLanes;
      const Lanes value =
          pooled(&sums[0][i], kBlocks, call.bias + (block + i) * kLanes, call.slope, choice);
      if (call.floats.first != nullptr) {
        Full::store(place(call.floats, column, i), value, kLanes);
      } else {
        Full::store(place(call.dst, column, i), value, kLanes);
      }
    }
  }
}

template <class Products, class T>
void forward_blocks(const VolumeForward<T>& call,
                    const SourceLines<typename Products::Value>& lines,
                    const typename Products::Value* weights, const PooledRow& row,
                    std::int64_t block, std::int64_t blocks) {
  if (blocks == 2) {
    forward_row<Products, 2>(call, lines, weights, row, block);
  } else {
    forward_row<Products, 1>(call, lines, weights, row, block);
  }
}

template <class Products>
void forward_rows(const VolumeForward<typename Products::Value>& call, const PooledRow& row,
                  std::int64_t block, std::int64_t blocks) {
  forward_blocks<Products>(call, lines_around(call, row), call.weights, row, block, blocks);
}

inline void forward_widened(const VolumeForward<Bf16>& call, const PooledRow& row,
                            std::int64_t block, std::int64_t blocks, float* scratch) {
  const SourceLines<Bf16> lines = lines_around(call, row);
  constexpr std::int64_t kSide = 4;
  const SourceLines<float> widened = {scratch, lines.next_row, kSide * lines.next_row};
  for (std::int64_t plane = 0; plane < kSide; ++plane) {
    // Rows of a plane are contiguous in both.
    for_each_piece(kSide * lines.next_row, [&](const auto& access, std::int64_t at, int width) {
      access.store(scratch + plane * widened.next_plane + at,
                   access.load(lines.first + plane * lines.next_plane + at, width), width);
    });
  }
  forward_blocks<FloatPoints>(call, widened, call.float_weights, row, block, blocks);
}

}  // namespace
}  // namespace nn
