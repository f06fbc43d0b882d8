// Judges times by their size.
#include "analysis/log_clocks.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "runner/mllog/record.h"

namespace analysis {
namespace {

/// Milliseconds since 1970 lie in this range from 1973 to 2096. Times of a clock that starts with
/// the program, and seconds since 1970, are below; microseconds and nanoseconds above.
constexpr double kEarliestMs = 1e11, kLatestMs = 4e12;

std::string other_unit(std::string_view unit) {
  for (const auto& [name, words] : {std::pair{"s", "seconds"}, std::pair{"us", "microseconds"},
                                    std::pair{"ns", "nanoseconds"}}) {
    if (unit == name) return fmt::format("likely {} ({}) since 1970", words, name);
  }
  return "a clock that does not count from 1970, in an unknown unit";
}

}  // namespace

TimeRange range_of(double time_ms) {
  if (time_ms < kEarliestMs) return TimeRange::kSmall;
  return time_ms >= kLatestMs ? TimeRange::kLarge : TimeRange::kCalendar;
}

LogClocks judge_clocks(bool has_small, bool has_calendar, bool has_large, double largest_time_ms) {
  LogClocks clocks;
  clocks.mixed = (has_small && has_large) || (has_calendar && (has_small || has_large));
  if (has_calendar || clocks.mixed || !(largest_time_ms > 0.0)) return clocks;
  clocks.other_unit = other_unit(mllog::unit_since_1970(largest_time_ms));
  return clocks;
}

}  // namespace analysis
