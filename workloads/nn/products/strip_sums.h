// Sums of strips of points, added up by the threads that made them.
// Hides nothing.
#pragma once

#include <cstdint>

namespace nn {

/// diff_weights [sums] = the sum over strips of strip_sums [strips][sums], or += with `add`. To be
/// called by all threads of a parallel region, which share it; the order is that of strips.
inline void add_strips(const float* strip_sums, std::int64_t strips, std::int64_t sums,
                       float* diff_weights, bool add) {
#pragma omp for schedule(static)
  for (std::int64_t i = 0; i < sums; ++i) {
    double sum = add ? static_cast<double>(diff_weights[i]) : 0.0;
    for (std::int64_t strip = 0; strip < strips; ++strip) {
      sum += static_cast<double>(strip_sums[strip * sums + i]);
    }
    diff_weights[i] = static_cast<float>(sum);
  }
}

}  // namespace nn
