// Sums and roundings of long arrays, shared by all threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "workloads/kernels/kernels.h"

namespace nn {

/// Calls work(first, size) for consecutive pieces of [0, count), on all threads. The pieces depend
/// on `count` alone, so that results do not depend on the number of threads. `work` must not throw.
template <class Work>
void for_each_piece_of(std::int64_t count, const Work& work) {
  constexpr std::int64_t kPiece = 1 << 14;
#pragma omp parallel for schedule(static)
  for (std::int64_t at = 0; at < count; at += kPiece) work(at, std::min(kPiece, count - at));
}

/// dst [count] += src. The same bits on any number of threads.
template <class T>
void add_all(const ColumnKernels<T>& kernels, T* dst, const T* src, std::int64_t count) {
  for_each_piece_of(count, [&](std::int64_t at, std::int64_t piece) {
    kernels.accumulate(dst + at, src + at, piece);
  });
}

/// dst [count] = src, rounded to bf16.
inline void round_all(const Kernels& kernels, const float* src, Bf16* dst, std::int64_t count) {
  for_each_piece_of(count, [&](std::int64_t at, std::int64_t piece) {
    kernels.round_to_bf16(src + at, dst + at, piece);
  });
}

}  // namespace nn
