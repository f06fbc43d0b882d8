// A clock that tests set by hand.
#pragma once

#include <cstdint>

#include "runner/base/clock.h"

namespace base {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;

class FakeClock final : public Clock {
 public:
  std::int64_t steady_ns() const override { return nanoseconds; }
  std::int64_t unix_ms() const override { return milliseconds; }
  std::int64_t nanoseconds = 1'000'000;
  std::int64_t milliseconds = 1'700'000'000'123;
};

}  // namespace base
