// Formats figures for reports.
#include "analysis/numbers.h"

#include <fmt/format.h>

#include <cmath>

#include "runner/base/printable.h"
#include "runner/base/rate_text.h"
#include "runner/base/units.h"

namespace analysis {
namespace {

constexpr char kAbsent[] = "-";

}  // namespace

std::optional<double> minutes_of(const std::optional<double>& seconds) {
  return seconds ? std::optional(*seconds / base::kMinute) : std::nullopt;
}

std::string short_number(const std::optional<double>& value) {
  if (!value) return kAbsent;
  const double size = std::abs(*value);
  if (!std::isfinite(*value) || (size != 0.0 && size < 1e-3)) return fmt::format("{:.3g}", *value);
  if (std::floor(*value) == *value && size < 1e12) return fmt::format("{:.0f}", *value);
  if (size < 1.0) return fmt::format("{:.4f}", *value);
  if (size < 100.0) return fmt::format("{:.2f}", *value);
  if (size < 10000.0) return fmt::format("{:.1f}", *value);
  return size < 1e12 ? fmt::format("{:.0f}", *value) : fmt::format("{:.3g}", *value);
}

std::string digits_text(double value) { return fmt::format("{:.6g}", value); }

std::string quality_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.4f}", *value) : kAbsent;
}

std::string duration_text(const std::optional<double>& seconds) {
  if (!seconds) return kAbsent;
  if (!(*seconds >= base::kMinute)) return fmt::format("{} s", short_number(seconds));
  if (*seconds < base::kHour) {
    const double whole = std::round(*seconds);
    return fmt::format("{:.0f} min {:.0f} s", std::floor(whole / base::kMinute),
                       std::fmod(whole, base::kMinute));
  }
  const double minutes = std::round(*seconds / base::kMinute);
  return fmt::format("{:.0f} h {:.0f} min", std::floor(minutes / base::kMinute),
                     std::fmod(minutes, base::kMinute));
}

std::string percent_text(const std::optional<double>& percent) {
  return percent ? fmt::format("{:.1f}", *percent) : kAbsent;
}

std::string seconds_text(double seconds) {
  const std::string text = fmt::format("{:.3f} s", seconds);
  return seconds < base::kMinute ? text : text + " (" + duration_text(seconds) + ")";
}

std::string count_or_dash(const std::optional<std::int64_t>& count) {
  return count ? std::to_string(*count) : kAbsent;
}

std::string bytes_or_dash(const std::optional<std::int64_t>& bytes) {
  return bytes ? base::bytes_text(*bytes) : kAbsent;
}

std::string rate_or_dash(const std::optional<double>& bytes_per_second) {
  return bytes_per_second ? base::rate_text(*bytes_per_second) : kAbsent;
}

}  // namespace analysis
