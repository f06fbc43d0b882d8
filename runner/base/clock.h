// Clocks: a monotonic one for durations, the calendar for log time stamps. Tests supply their own
// Clock.
#pragma once

#include <cstdint>

namespace base {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Nanoseconds on a clock that never goes back; its zero has no meaning.
  virtual std::int64_t steady_ns() const = 0;
  /// Milliseconds since the Unix epoch, the time stamp of MLPerf logs.
  virtual std::int64_t unix_ms() const = 0;
};

/// The machine's clocks.
class SystemClock final : public Clock {
 public:
  std::int64_t steady_ns() const override;
  std::int64_t unix_ms() const override;
};

}  // namespace base
