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

#if defined(__AVX512F__)
constexpr int kRegisterBytes = 64;
#elif defined(__AVX2__)
constexpr int kRegisterBytes = 32;
#else
constexpr int kRegisterBytes = 16;
#endif
/// What a vector register holds. GCC 12 compiles broadcasts and choices of wider vectors lane by
/// lane.
using Register = float __attribute__((vector_size(kRegisterBytes), aligned(4)));
using RegisterWords = std::uint32_t __attribute__((vector_size(kRegisterBytes), aligned(4)));
constexpr int kRegisterLanes = kRegisterBytes / static_cast<int>(sizeof(float));
constexpr int kRegisters = kLanes / kRegisterLanes;

/// Returns the maximum with bias and LeakyReLU, and stores its position to `choice` unless null. Of
/// equal sums the first is chosen; NaN wins.
inline Lanes pooled(const Lanes* sums, int stride, const float* bias, float slope,
                    PoolChoice* choice) {
  Lanes values;
  Words places;
#pragma GCC unroll 4
  for (int part = 0; part < kRegisters; ++part) {
    const auto part_of = [part](auto& lanes) {
      return reinterpret_cast<float*>(&lanes) + part * kRegisterLanes;
    };
    const auto load = [](const float* from) {
      Register loaded;
      __builtin_memcpy(&loaded, from, sizeof loaded);
      return loaded;
    };
    const float* const first = reinterpret_cast<const float*>(sums) + part * kRegisterLanes;
    Register best = load(first);
    RegisterWords place = {};
#pragma GCC unroll 7
    for (int point = 1; point < kPooled; ++point) {
      const Register sum = load(first + point * stride * kLanes);
      const auto larger = (sum > best) | (sum != sum);
      best = larger ? sum : best;
      place = larger ? RegisterWords{} + static_cast<std::uint32_t>(point) : place;
    }
    best += load(bias + part * kRegisterLanes);
    const auto passed = best > 0.0F;
    best = passed ? best : best * slope;
    place = passed ? place | 8u : place;
    __builtin_memcpy(part_of(values), &best, sizeof best);
    __builtin_memcpy(part_of(places), &place, sizeof place);
  }
  if (choice != nullptr) store_choice(choice, places);
  return values;
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

/// The source of eight voxels of which a maximum is taken, from their first tap on.
template <class Value>
struct PooledSource {
  const Value* first;
  std::int64_t in, next_row, next_plane;

  const Value* tap(int plane, int line, int point) const {
    return first + plane * next_plane + line * next_row + point * in;
  }
  /// Of voxel `number` for a tap at `at`.
  const Value* voxel(const Value* at, int number) const {
    return at + (number & 1) * in + (number >> 1 & 1) * next_row + (number >> 2) * next_plane;
  }
};

/// Adds to the sums of kBlocks blocks of channels. `block_values`: weights of a block.
template <class Products, int kBlocks>
void add_products(const PooledSource<typename Products::Value>& source, std::int64_t steps,
                  const typename Products::Value* weights, std::int64_t block_values,
                  Lanes (&sums)[kPooled][kBlocks]) {
  using Value = typename Products::Value;
  for (int plane = 0; plane < 3; ++plane) {
    for (int line = 0; line < 3; ++line) {
      for (int tap = 0; tap < 3; ++tap) {
        const Value* points[kPooled];
#pragma GCC unroll 8
        for (int i = 0; i < kPooled; ++i) points[i] = source.voxel(source.tap(plane, line, tap), i);
        for (std::int64_t step = 0; step < steps; ++step) {
          typename Products::Weights factors[kBlocks];
#pragma GCC unroll 2
          for (int i = 0; i < kBlocks; ++i) factors[i] = Products::load(weights + i * block_values);
#pragma GCC unroll 8
          for (int i = 0; i < kPooled; ++i) {
#pragma GCC unroll 2
            for (int j = 0; j < kBlocks; ++j) {
              Products::add(sums[i][j], factors[j], points[i] + step * Products::kChannels);
            }
          }
          weights += kLanes * Products::kChannels;
        }
      }
    }
  }
}

/// The same products of floats, in the same order for each lane, of a register after the other:
/// where these are half as wide as a block, the sums of more would not fit the registers.
template <int kBlocks>
void add_products_by_registers(const PooledSource<float>& source, std::int64_t steps,
                               const float* weights, std::int64_t block_values,
                               Lanes (&sums)[kPooled][kBlocks]) {
  for (int part = 0; part < kRegisters * kBlocks; ++part) {
    const int block = part / kRegisters, lane = part % kRegisters * kRegisterLanes;
    const float* at = weights + block * block_values + lane;
    Register added[kPooled] = {};
    for (int plane = 0; plane < 3; ++plane) {
      for (int line = 0; line < 3; ++line) {
        for (int tap = 0; tap < 3; ++tap) {
          const float* points[kPooled];
#pragma GCC unroll 8
          for (int i = 0; i < kPooled; ++i)
            points[i] = source.voxel(source.tap(plane, line, tap), i);
          for (std::int64_t step = 0; step < steps; ++step, at += kLanes) {
            Register factors;
            __builtin_memcpy(&factors, at, sizeof factors);
#pragma GCC unroll 8
            for (int i = 0; i < kPooled; ++i) added[i] += factors * points[i][step];
          }
        }
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kPooled; ++i) {
      __builtin_memcpy(reinterpret_cast<float*>(&sums[i][block]) + lane, &added[i],
                       sizeof(Register));
    }
  }
}

/// all_weights: those of the whole volume, in the type of Products.
template <class Products, int kBlocks, class T>
void forward_row(const VolumeForward<T>& call, const SourceLines<typename Products::Value>& lines,
                 const typename Products::Value* all_weights, const PooledRow& row,
                 std::int64_t block) {
  const Volume& volume = call.volume;
  const std::int64_t steps = volume.in / Products::kChannels;
  const std::int64_t block_values = Volume::kTaps * steps * kLanes * Products::kChannels;
  const auto* const weights = all_weights + block * block_values;
  const auto place = [&](const auto& points, std::int64_t column, int i) {
    return points.first + (row.plane * points.plane + row.row * points.row + column) * volume.out +
           (block + i) * kLanes;
  };
  const std::int64_t point = (row.plane * (volume.height / 2) + row.row) * (volume.width / 2);
  for (std::int64_t column = 0; column < volume.width / 2; ++column) {
    Lanes sums[kPooled][kBlocks] = {};
    const PooledSource<typename Products::Value> source = {
        lines.first + 2 * column * volume.in, volume.in, lines.next_row, lines.next_plane};
    if constexpr (kRegisters > 1 && Products::kChannels == 1) {
      add_products_by_registers(source, steps, weights, block_values, sums);
    } else {
      add_products<Products>(source, steps, weights, block_values, sums);
    }
#pragma GCC unroll 2
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
