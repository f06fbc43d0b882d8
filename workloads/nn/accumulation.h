// Sums of long arrays by all threads.
// Hides how they share the work.
#pragma once

#include <algorithm>
#include <cstdint>

#include "workloads/nn/kernels.h"

namespace nn {

/// dst [count] += src, each element once: the same bits on any number of threads.
template <class T>
void add_all(const ColumnKernels<T>& kernels, T* dst, const T* src, std::int64_t count) {
  constexpr std::int64_t kPiece = 1 << 14;
#pragma omp parallel for schedule(static)
  for (std::int64_t at = 0; at < count; at += kPiece) {
    kernels.accumulate(dst + at, src + at, std::min(kPiece, count - at));
  }
}

}  // namespace nn
