// The source of the kernels of narrow products. As kernels_body.h, whose part it is: compiled once
// per instruction set, internal linkage, nothing of the standard library.
// Hides how many sums stay in registers.
#pragma once

#include "workloads/kernels/narrow_kernels.h"
#include "workloads/kernels/transpose.h"

namespace nn {
namespace {

/// So many points or outputs with two vectors of sums each leave registers for what is multiplied.
constexpr int kNarrowTile = 14;
constexpr int kNarrowVectors = 2;
static_assert(NarrowShape::kPlaces == kNarrowVectors * kLanes);
static_assert(NarrowShape::kMost == 2 * kNarrowTile);

/// Points of a block as floats: where they stand, or copies of them.
template <int kPoints>
const float* as_floats(const float* src, float* /*wide*/) {
  for (int point = 0; point < kPoints; ++point) {
    __builtin_prefetch(reinterpret_cast<const char*>(src + point * kLanes) + kAheadBytes);
  }
  return src;
}
template <int kPoints>
const float* as_floats(const Bf16* src, float* wide) {
  for (int point = 0; point < kPoints; ++point) {
    Full::store(wide + point * kLanes, load_on_way<Full>(src + point * kLanes, kLanes), kLanes);
  }
  return wide;
}

template <int kPoints, class T>
void multiply_points(const T* src, const float* weights, const NarrowShape& shape,
                     float* products) {
  Lanes sums[kPoints][kNarrowVectors] = {};
  float wide[kPoints * kLanes];
  for (std::int64_t block = 0; block < shape.blocks; ++block) {
    const float* const values = as_floats<kPoints>(src + block * shape.block_stride, wide);
    for (int lane = 0; lane < kLanes; ++lane) {
      const Lanes first = Full::load(weights, kLanes),
                  second = Full::load(weights + kLanes, kLanes);
      weights += NarrowShape::kPlaces;
#pragma GCC unroll 14
      for (int point = 0; point < kPoints; ++point) {
        const float value = values[point * kLanes + lane];
        sums[point][0] += value * first;
        sums[point][1] += value * second;
      }
    }
  }
#pragma GCC unroll 14
  for (int point = 0; point < kPoints; ++point) {
    Full::store(products + point * NarrowShape::kPlaces, sums[point][0], kLanes);
    Full::store(products + point * NarrowShape::kPlaces + kLanes, sums[point][1], kLanes);
  }
}

/// Calls run(number of points, known when compiled, the first) for all of [0, points). Pairs behind
/// whole tiles: of what is streamed, two points in bfloat16 fill a line.
template <class Run>
void for_each_tile(std::int64_t points, const Run& run) {
  std::int64_t point = 0;
  for (; point + kNarrowTile <= points; point += kNarrowTile) run(Count<kNarrowTile>(), point);
  for (; point + 2 <= points; point += 2) run(Count<2>(), point);
  if (point < points) run(Count<1>(), point);
}

template <class T>
void narrow_forward(const T* src, const float* weights, const NarrowShape& shape,
                    std::int64_t points, float* products) {
  for_each_tile(points, [&](auto count, std::int64_t point) {
    multiply_points<decltype(count)::kCount>(src + point * kLanes, weights, shape,
                                             products + point * NarrowShape::kPlaces);
  });
}

/// Of kBlocks neighbouring blocks.
template <class Access, int kPoints, int kBlocks, class T>
void multiply_back(const float* diff_products, const float* weights, const NarrowShape& shape,
                   T* diff_src) {
  Lanes sums[kPoints][kBlocks] = {};
  for (std::int64_t output = 0; output < shape.outputs; ++output) {
    Lanes columns[kBlocks];
#pragma GCC unroll 2
    for (int block = 0; block < kBlocks; ++block) {
      columns[block] = Full::load(weights + (block * shape.outputs + output) * kLanes, kLanes);
    }
#pragma GCC unroll 14
    for (int point = 0; point < kPoints; ++point) {
      const float value = diff_products[point * NarrowShape::kPlaces + output];
#pragma GCC unroll 2
      for (int block = 0; block < kBlocks; ++block) sums[point][block] += value * columns[block];
    }
  }
#pragma GCC unroll 2
  for (int block = 0; block < kBlocks; ++block) {
#pragma GCC unroll 14
    for (int point = 0; point < kPoints; ++point) {
      Access::store(diff_src + block * shape.block_stride + point * kLanes, sums[point][block],
                    kLanes);
    }
  }
}

template <class Access, int kPoints, class T>
void multiply_all_back(const float* diff_products, const float* weights, const NarrowShape& shape,
                       T* diff_src) {
  std::int64_t block = 0;
  const auto weights_of = [&](std::int64_t of) { return weights + of * shape.outputs * kLanes; };
  for (; block + kNarrowVectors <= shape.blocks; block += kNarrowVectors) {
    multiply_back<Access, kPoints, kNarrowVectors>(diff_products, weights_of(block), shape,
                                                   diff_src + block * shape.block_stride);
  }
  if (block == shape.blocks) return;
  multiply_back<Access, kPoints, 1>(diff_products, weights_of(block), shape,
                                    diff_src + block * shape.block_stride);
}

template <class Access, class T>
void narrow_source_gradient_by(const float* diff_products, const float* weights,
                               const NarrowShape& shape, std::int64_t points, T* diff_src) {
  for_each_tile(points, [&](auto count, std::int64_t point) {
    multiply_all_back<Access, decltype(count)::kCount>(diff_products + point * NarrowShape::kPlaces,
                                                       weights, shape, diff_src + point * kLanes);
  });
}

template <class T>
bool can_stream_narrow(const NarrowShape& shape, const T* diff_src) {
  return shape.stores == Stores::kStreamed && can_stream(diff_src, kLanes) &&
         can_stream(diff_src + shape.block_stride, kLanes);
}

template <class T>
void narrow_source_gradient(const float* diff_products, const float* weights,
                            const NarrowShape& shape, std::int64_t points, T* diff_src) {
  if (!can_stream_narrow(shape, diff_src)) {
    return narrow_source_gradient_by<Full>(diff_products, weights, shape, points, diff_src);
  }
  narrow_source_gradient_by<Streamed>(diff_products, weights, shape, points, diff_src);
  finish_streams();
}

/// Of kNarrowTile outputs from `first` on.
template <int kBlocks, class T>
void add_tile_products(const T* src, const float* diff_products, const NarrowShape& shape,
                       std::int64_t points, std::int64_t first, float* sums) {
  Lanes tile[kNarrowTile][kBlocks] = {};
  for (std::int64_t point = 0; point < points; ++point) {
    Lanes columns[kBlocks];
#pragma GCC unroll 2
    for (int block = 0; block < kBlocks; ++block) {
      columns[block] = load_on_way<Full>(src + block * shape.block_stride + point * kLanes, kLanes);
    }
    const float* const gradients = diff_products + point * NarrowShape::kPlaces + first;
#pragma GCC unroll 14
    for (int output = 0; output < kNarrowTile; ++output) {
#pragma GCC unroll 2
      for (int block = 0; block < kBlocks; ++block) {
        tile[output][block] += gradients[output] * columns[block];
      }
    }
  }
#pragma GCC unroll 2
  for (int block = 0; block < kBlocks; ++block) {
#pragma GCC unroll 14
    for (int output = 0; output < kNarrowTile; ++output) {
      float* const to = sums + (block * NarrowShape::kPlaces + first + output) * kLanes;
      Full::store(to, Full::load(to, kLanes) + tile[output][block], kLanes);
    }
  }
}

template <int kBlocks, class T>
void add_products_of(const T* src, const float* diff_products, const NarrowShape& shape,
                     std::int64_t points, float* sums) {
  add_tile_products<kBlocks>(src, diff_products, shape, points, 0, sums);
  if (shape.outputs <= kNarrowTile) return;
  add_tile_products<kBlocks>(src, diff_products, shape, points, kNarrowTile, sums);
}

template <class T>
void narrow_weights_gradient(const T* src, const float* diff_products, const NarrowShape& shape,
                             std::int64_t points, float* sums) {
  std::int64_t block = 0;
  const auto sums_of = [&](std::int64_t of) { return sums + of * NarrowShape::kPlaces * kLanes; };
  for (; block + kNarrowVectors <= shape.blocks; block += kNarrowVectors) {
    add_products_of<kNarrowVectors>(src + block * shape.block_stride, diff_products, shape, points,
                                    sums_of(block));
  }
  if (block == shape.blocks) return;
  add_products_of<1>(src + block * shape.block_stride, diff_products, shape, points,
                     sums_of(block));
}

/// 16 numbers of each of 16 rows in turn, or the fewer that are left.
inline void load_turned(const float* const* rows, std::int64_t count, std::int64_t at,
                        std::int64_t left, Lanes* lanes) {
  const int width = static_cast<int>(left < kLanes ? left : kLanes);
  for (int row = 0; row < kLanes; ++row) {
    if (row >= count) {
      lanes[row] = zero();
    } else if (width == kLanes) {
      lanes[row] = Full::load(rows[row] + at, kLanes);
    } else {
      lanes[row] = Partial::load(rows[row] + at, width);
    }
  }
  transpose_lanes(lanes);
}

inline void part_products(const float* products, std::int64_t points, std::int64_t pitch,
                          float* planes) {
  for (std::int64_t point = 0; point < points; point += kLanes) {
    const std::int64_t left = points - point;
    const float* rows[kLanes];
    for (int half = 0; half < kNarrowVectors; ++half) {
      for (int row = 0; row < kLanes; ++row) {
        rows[row] = products + (point + row) * NarrowShape::kPlaces + half * kLanes;
      }
      Lanes lanes[kLanes];
      load_turned(rows, left, 0, kLanes, lanes);
      float* const to = planes + half * kLanes * pitch + point;
      for (int output = 0; output < kLanes; ++output) {
        if (left >= kLanes) {
          Full::store(to + output * pitch, lanes[output], kLanes);
        } else {
          Partial::store(to + output * pitch, lanes[output], static_cast<int>(left));
        }
      }
    }
  }
}

template <class Factor>
void join_gradients(const float* const* rows, std::int64_t outputs, std::int64_t points,
                    Factor* diff_products) {
  for (std::int64_t point = 0; point < points; point += kLanes) {
    const std::int64_t left = points - point;
    for (int half = 0; half < kNarrowVectors; ++half) {
      Lanes lanes[kLanes];
      load_turned(rows + half * kLanes, outputs - half * kLanes, point, left, lanes);
      Factor* const to = diff_products + point * NarrowShape::kPlaces + half * kLanes;
      for (int i = 0; i < kLanes && i < left; ++i) {
        Full::store(to + i * NarrowShape::kPlaces, lanes[i], kLanes);
      }
    }
  }
}

template <class T>
constexpr NarrowKernels<T, float> kNarrow = {narrow_forward<T>, part_products,
                                             join_gradients<float>, narrow_source_gradient<T>,
                                             narrow_weights_gradient<T>};

}  // namespace
}  // namespace nn
