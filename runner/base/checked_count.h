// Sums and products of counts, which may be those of machines that nobody has.
#pragma once

#include <cstdint>

#include "runner/base/error.h"

namespace base {

namespace counts {
[[noreturn]] inline void refuse() {
  throw ConfigError("expected counts of up to 2^63, found a larger one");
}
}  // namespace counts

/// a * b, a + b. Throw ConfigError where 64 bits do not hold it.
inline std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) counts::refuse();
  return product;
}
inline std::int64_t checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) counts::refuse();
  return sum;
}

}  // namespace base
