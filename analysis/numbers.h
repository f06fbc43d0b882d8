// Formats figures for reports.
#pragma once

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
/// "12.3". "-" when absent.
std::string percent_text(const std::optional<double>& percent);

}  // namespace analysis
