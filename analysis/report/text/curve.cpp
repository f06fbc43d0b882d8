// A run's quality as a plot of characters.
#include "analysis/report/text/curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/numbers.h"

namespace analysis::report {
namespace {

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void hold(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_wide() const { return low < high && std::isfinite(high - low); }
  /// The cell of `cells` that holds the value, 0 at `low`.
  std::size_t cell(double value, std::size_t cells) const {
    const double share = std::clamp((value - low) / (high - low), 0.0, 1.0);
    return static_cast<std::size_t>(std::lround(share * static_cast<double>(cells - 1)));
  }
};

bool is_shown(const Evaluation& one) {
  return std::isfinite(one.quality) && one.position && std::isfinite(*one.position);
}

}  // namespace

std::vector<std::string> curve(const RunFacts& facts, std::size_t columns, std::size_t rows) {
  Range positions, values;
  for (const Evaluation& one : facts.evaluations) {
    if (!is_shown(one)) continue;
    positions.hold(*one.position);
    values.hold(one.quality);
  }
  if (!positions.is_wide()) return {};
  const double target = facts.target_value().value_or(std::numeric_limits<double>::quiet_NaN());
  const bool has_target = std::isfinite(target);
  if (has_target) values.hold(target);
  if (!values.is_wide()) values.hold(values.low + std::max(1.0, std::abs(values.low)));
  if (!values.is_wide()) return {};

  std::vector<std::string> labels(rows);
  labels.front() = quality_text(values.high);
  labels.back() = quality_text(values.low);
  const auto row_of = [&](double value) { return rows - 1 - values.cell(value, rows); };
  if (has_target) labels[row_of(target)] = "target " + digits_text(target);
  std::size_t widest = 0;
  for (const std::string& label : labels) widest = std::max(widest, label.size());
  const std::string first = short_number(positions.low), last = short_number(positions.high);
  if (columns < widest + 2 + first.size() + 1 + last.size()) return {};
  const std::size_t width = columns - widest - 2;

  std::vector<std::string> plot(rows, std::string(width, ' '));
  if (has_target) {
    for (std::size_t i = 0; i < width; i += 2) plot[row_of(target)][i] = '-';
  }
  for (std::size_t i = 0; i < facts.evaluations.size(); ++i) {
    const Evaluation& one = facts.evaluations[i];
    if (!is_shown(one)) continue;
    char& mark = plot[row_of(one.quality)][positions.cell(*one.position, width)];
    if (mark != 'o') mark = facts.at_target == i ? 'o' : '*';
  }
  std::vector<std::string> lines;
  for (std::size_t row = 0; row < rows; ++row) {
    lines.push_back(fmt::format("{:>{}} |{}", labels[row], widest, plot[row]));
  }
  lines.push_back(fmt::format("{:>{}}  {}{:>{}}", "", widest, first, last, width - first.size()));
  return lines;
}

}  // namespace analysis::report
