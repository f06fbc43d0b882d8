// Converts nanoseconds to seconds.
#pragma once

#include <cstdint>

#include "runner/base/units.h"

namespace telemetry {

inline double seconds_of(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * base::kNanosecond;
}

}  // namespace telemetry
