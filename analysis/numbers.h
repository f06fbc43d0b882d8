// Formats figures for reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace analysis {

/// Seconds in minutes; absent stays absent.
std::optional<double> minutes_of(const std::optional<double>& seconds);
/// "0.0123", "1.23", "123.4", "12345": fewer decimals for larger values. "-" if absent.
std::string short_number(const std::optional<double>& value);
/// At most six significant digits: "128", "0.0123457", "1.5e+07".
std::string digits_text(double value);
/// Four decimals, for qualities. "-" when absent.
std::string quality_text(const std::optional<double>& value);
/// "12.3 s", "4 min 5 s", "3 h 4 min". "-" when absent.
std::string duration_text(const std::optional<double>& seconds);
/// "126.683 s (2 min 7 s)"; without the minutes below one.
std::string seconds_text(double seconds);
/// "17", "2.5 GiB", "310 MB/s". "-" when absent.
std::string count_or_dash(const std::optional<std::int64_t>& count);
std::string bytes_or_dash(const std::optional<std::int64_t>& bytes);
std::string rate_or_dash(const std::optional<double>& bytes_per_second);
/// "12.3". "-" when absent.
std::string percent_text(const std::optional<double>& percent);

}  // namespace analysis
