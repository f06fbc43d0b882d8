// The range of numbers that keep a divisor from zero.
#pragma once

#include <limits>

#include "runner/base/object_reader.h"

namespace nn {

/// The range of an epsilon that is parsed as a double and added as a float: below it, the float
/// would be 0 or subnormal; above it, infinite.
inline base::Check<double> divisor_range() {
  constexpr double kLeast = std::numeric_limits<float>::min();
  constexpr double kMost = std::numeric_limits<float>::max();
  return base::between(kLeast, kMost);
}

}  // namespace nn
