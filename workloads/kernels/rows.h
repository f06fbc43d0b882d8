// Kernels on rows of a perceptron's activations: gradients through a ReLU, and layers of one
// output. Follows the rules of lanes.h.
#pragma once

#include "workloads/kernels/lanes.h"

namespace nn {
namespace {

template <class T>
void mask_rows(const T* dst, const T* diff_dst, T* masked_diff, std::int64_t rows,
               std::int64_t columns, float* sums) {
  for_each_piece(columns, [&](auto access, std::int64_t at, int width) {
    access.store(sums + at, zero(), width);
  });
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t begin = row * columns;
    for_each_piece(columns, [&](auto access, std::int64_t at, int width) {
      Lanes gradient = access.load(diff_dst + begin + at, width);
      if (dst != nullptr) {
        gradient = masked(gradient, signs_of(access.load(dst + begin + at, width)));
        access.store(masked_diff + begin + at, gradient, width);
      }
      access.store(sums + at, access.load(sums + at, width) + gradient, width);
    });
  }
}

inline float sum_of(const Lanes& value) {
  float sum = 0.0F;
  for (int lane = 0; lane < kLanes; ++lane) sum += value[lane];
  return sum;
}

template <class T>
void project_rows(const T* src, const float* weights, std::int64_t rows, std::int64_t columns,
                  float* dst) {
  constexpr int kChains = 4;
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* const from = src + row * columns;
    Lanes sums[kChains] = {zero(), zero(), zero(), zero()};
    std::int64_t at = 0;
    for (; at + kChains * kLanes <= columns; at += kChains * kLanes) {
      for (int chain = 0; chain < kChains; ++chain) {
        const std::int64_t here = at + chain * kLanes;
        sums[chain] += Full::load(from + here, kLanes) * Full::load(weights + here, kLanes);
      }
    }
    for_each_piece(columns - at, [&](auto access, std::int64_t place, int width) {
      sums[0] += access.load(from + at + place, width) * access.load(weights + at + place, width);
    });
    dst[row] = sum_of((sums[0] + sums[1]) + (sums[2] + sums[3]));
  }
}

template <class T>
void project_rows_backward(const T* src, const float* weights, const float* diff_dst,
                           std::int64_t rows, std::int64_t columns, T* diff_src, float* sums) {
  for_each_piece(columns, [&](auto access, std::int64_t at, int width) {
    access.store(sums + at, zero(), width);
  });
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t begin = row * columns;
    const float gradient = diff_dst[row];
    for_each_piece(columns, [&](auto access, std::int64_t at, int width) {
      const Lanes value = access.load(src + begin + at, width);
      access.store(sums + at, access.load(sums + at, width) + value * gradient, width);
      if (diff_src == nullptr) return;
      access.store(diff_src + begin + at, access.load(weights + at, width) * gradient, width);
    });
  }
}

}  // namespace
}  // namespace nn
