// The range of numbers that keep a divisor from zero.
// Hides nothing.
#pragma once

#include <limits>

#include "runner/base/object_reader.h"

namespace nn {

/// Of an epsilon that is given as a double and added as a float: below, it would be 0 or lose its
/// digits there; above, it would be infinite.
inline base::Check<double> divisor_range() {
  constexpr double kLeast = std::numeric_limits<float>::min();
  constexpr double kMost = std::numeric_limits<float>::max();
  return base::between(kLeast, kMost);
}

}  // namespace nn
