// The offset of another host's clock, estimated from round trips of messages.
#pragma once

#include <cstdint>
#include <span>

namespace telemetry {

/// A message to another clock and back, in nanoseconds: `sent` and `back` on the local clock,
/// `there` on the remote clock when it replied.
struct RoundTrip {
  std::int64_t sent_ns = 0, there_ns = 0, back_ns = 0;
};

/// `offset_ns` is to be added to the remote clock's `there_ns` to get local time. The uncertainty,
/// half of the round trip, covers any split of the round trip into its two ways.
struct ClockOffset {
  std::int64_t there_ns = 0, offset_ns = 0, uncertainty_ns = 0;
};

/// Uses the shortest round trip, which had the least delay. Source: Mills, RFC 5905, section 8 and
/// its clock filter. Throws Error(kInternal) if there are none, or if one came back before it was
/// sent.
ClockOffset estimate_offset(std::span<const RoundTrip> round_trips);

/// Converts times of the remote clock to local time: linearly between two estimates, and
/// extrapolated beyond them. Preserves the order of times.
class ClockMap {
 public:
  ClockMap() = default;  ///< both are the same clock
  ClockMap(const ClockOffset& start, const ClockOffset& end) : start_(start), end_(end) {}
  std::int64_t to_own(std::int64_t there_ns) const;
  /// The relative error of the remote clock's second; positive: too long.
  double drift() const;
  const ClockOffset& start() const { return start_; }
  const ClockOffset& end() const { return end_; }
  /// The larger of the two estimates' uncertainties.
  std::int64_t uncertainty_ns() const;

 private:
  ClockOffset start_, end_;
};

}  // namespace telemetry
