// Which clocks a log's times are of, by their size.
#pragma once

#include <optional>
#include <string>

namespace analysis {

/// Times below those of milliseconds since 1970, such times, and times above.
enum class TimeRange { kSmall, kCalendar, kLarge };
TimeRange range_of(double time_ms);

struct LogClocks {
  bool mixed = false;                     ///< times in more than one range
  std::optional<std::string> other_unit;  ///< what they are instead of milliseconds since 1970
};

/// Judges a log by the ranges in which it has times, and its largest time. Zeros say nothing.
LogClocks judge_clocks(bool has_small, bool has_calendar, bool has_large, double largest_time_ms);

}  // namespace analysis
