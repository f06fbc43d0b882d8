// The machine's clocks.
#include "runner/base/clock.h"

#include <chrono>

namespace base {

namespace {

template <class Unit, class Source>
std::int64_t ticks_since_epoch() {
  return std::chrono::duration_cast<Unit>(Source::now().time_since_epoch()).count();
}

}  // namespace

std::int64_t SystemClock::steady_ns() const {
  return ticks_since_epoch<std::chrono::nanoseconds, std::chrono::steady_clock>();
}

std::int64_t SystemClock::unix_ms() const {
  return ticks_since_epoch<std::chrono::milliseconds, std::chrono::system_clock>();
}

}  // namespace base
