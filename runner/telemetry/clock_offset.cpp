// Offsets and drifts of clocks.
#include "runner/telemetry/clock_offset.h"

#include <algorithm>
#include <cmath>

#include "runner/base/error.h"

namespace telemetry {
namespace {

/// No two clocks drift apart faster. A larger estimate comes from two offsets taken too close to
/// each other for their uncertainty.
constexpr double kMostDrift = 1e-3;

std::int64_t length(const RoundTrip& trip) { return trip.back_ns - trip.sent_ns; }

}  // namespace

ClockOffset estimate_offset(std::span<const RoundTrip> round_trips) {
  const auto best = std::ranges::min_element(round_trips, {}, length);
  if (best == round_trips.end() || length(*best) < 0) {
    throw base::Error(base::ExitCode::kInternal, "offset of a clock: no round trip to tell from");
  }
  const std::int64_t middle = best->sent_ns + length(*best) / 2;
  return {best->there_ns, middle - best->there_ns, (length(*best) + 1) / 2};
}

double ClockMap::drift() const {
  const std::int64_t apart = end_.there_ns - start_.there_ns;
  if (apart <= 0) return 0.0;
  const double drift =
      static_cast<double>(end_.offset_ns - start_.offset_ns) / static_cast<double>(apart);
  return std::clamp(drift, -kMostDrift, kMostDrift);
}

std::int64_t ClockMap::to_own(std::int64_t there_ns) const {
  const auto since = static_cast<double>(there_ns - start_.there_ns);
  return there_ns + start_.offset_ns + std::llround(drift() * since);
}

std::int64_t ClockMap::uncertainty_ns() const {
  return std::max(start_.uncertainty_ns, end_.uncertainty_ns);
}

}  // namespace telemetry
