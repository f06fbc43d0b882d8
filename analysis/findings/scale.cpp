// Scales of axes.
#include "analysis/findings/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runner/base/ceil_div.h"

namespace analysis {
namespace {

constexpr double kLargest = 1e100;
constexpr double kLongest = 1e12;  ///< least value written with an exponent

/// The margin on each side, as a share of the span of the values.
constexpr double kRoom = 0.06;
/// The margin for equal values, as a share of their size.
constexpr double kRoomOfOne = 0.1;
/// Spans below this share of the values' size count as zero: marks would have no digits to differ
/// in.
constexpr double kNarrow = 1e-9;

/// The least step of 1, 2 or 5 times a power of ten that divides `span` into at most `most` parts.
double round_step(double span, std::size_t most) {
  const double least = span / static_cast<double>(most);
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (times * power >= least) return times * power;
  }
  return 10.0 * power;
}

std::string power_text(double value) {
  return value >= 1.0 && value < kLongest ? fmt::format("{:.0f}", value)
                                          : fmt::format("{:.3g}", value);
}

std::string linear_text(double value, double step) {
  if (std::abs(value) >= kLongest || step < 1.0 / kLongest) return fmt::format("{:.6g}", value);
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - kNarrow)));
  return fmt::format("{:.{}f}", value, decimals);
}

std::vector<Scale::Tick> powers_of_two(double low, double high, std::size_t most) {
  const auto first = static_cast<int>(std::ceil(std::log2(low)));
  const auto last = static_cast<int>(std::floor(std::log2(high)));
  const int all = std::max(0, last - first + 1);
  const int limit = static_cast<int>(most);
  const int each = std::max(1, base::ceil_div(all, limit));
  std::vector<Scale::Tick> ticks;
  for (int power = first; power <= last; power += each) {
    const double value = std::exp2(power);
    ticks.push_back({value, power_text(value)});
  }
  return ticks;
}

std::vector<Scale::Tick> round_numbers(double low, double high, std::size_t most) {
  double step = 0.0, first = 0.0, last = 0.0;
  // With marks at both ends, there is one mark more than parts.
  for (std::size_t parts = most; parts > 0; --parts) {
    step = round_step(high - low, parts);
    first = std::ceil(low / step - kNarrow);
    last = std::floor(high / step + kNarrow);
    if (last - first < static_cast<double>(most)) break;
  }
  std::vector<Scale::Tick> ticks;
  for (std::size_t i = 0; i < most && first + static_cast<double>(i) <= last; ++i) {
    const double value = (first + static_cast<double>(i)) * step;
    ticks.push_back({value, linear_text(value, step)});
  }
  return ticks;
}

}  // namespace

bool is_drawable(double value) { return std::abs(value) < kLargest; }

Scale Scale::around(Kind kind, std::span<const double> values) {
  if (values.empty()) return {kind, 1.0, 2.0};
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (kind == Kind::kLogarithmic) {
    // A single value gets a factor of two on both sides, so that a power of two is in range.
    const double factor = *most > *least ? std::max(std::pow(*most / *least, kRoom), 1.15) : 2.0;
    return {kind, *least / factor, *most * factor};
  }
  const double size = std::max(std::abs(*least), std::abs(*most));
  const double span = *most - *least;
  if (span > kNarrow * size) return {kind, *least - kRoom * span, *most + kRoom * span};
  const double room = size > 0.0 ? kRoomOfOne * size : 1.0;
  return {kind, *least - room, *most + room};
}

double Scale::at(double value) const {
  if (kind_ == Kind::kLinear) return (value - low_) / (high_ - low_);
  return std::log(value / low_) / std::log(high_ / low_);
}

std::vector<Scale::Tick> Scale::ticks(std::size_t most) const {
  if (most == 0) return {};
  return kind_ == Kind::kLinear ? round_numbers(low_, high_, most)
                                : powers_of_two(low_, high_, most);
}

}  // namespace analysis
