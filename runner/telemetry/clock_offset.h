// How far another host's clock is from this one's, from messages that went to and fro.
// Hides the choice of the best message, and the drift between two estimates.
#pragma once

#include <cstdint>
#include <span>

namespace telemetry {

/// A message to another clock and back, in nanoseconds: sent and back by one's own clock, `there`
/// by the other when it turned round.
struct RoundTrip {
  std::int64_t sent_ns = 0, there_ns = 0, back_ns = 0;
};

/// What to add to the other clock's `there_ns` to have one's own. Exact within the uncertainty,
/// however the round trip falls into its two ways: half of it.
struct ClockOffset {
  std::int64_t there_ns = 0, offset_ns = 0, uncertainty_ns = 0;
};

/// By the shortest round trip, which had the least delay. Source: Mills, RFC 5905, section 8 and
/// its clock filter. Throws Error(kInternal) without any, or if one came back before it was sent.
ClockOffset estimate_offset(std::span<const RoundTrip> round_trips);

/// Carries times of the other clock over to one's own: between two estimates in a straight line,
/// and beyond them likewise. Never turns the order of two times round.
class ClockMap {
 public:
  ClockMap() = default;  ///< both are one clock
  ClockMap(const ClockOffset& start, const ClockOffset& end) : start_(start), end_(end) {}
  std::int64_t to_own(std::int64_t there_ns) const;
  /// By how much the other's second is too long: parts of it.
  double drift() const;
  const ClockOffset& start() const { return start_; }
  const ClockOffset& end() const { return end_; }
  /// The larger one of both estimates.
  std::int64_t uncertainty_ns() const;

 private:
  ClockOffset start_, end_;
};

}  // namespace telemetry
