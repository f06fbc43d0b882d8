// Comparisons of bench results as text.
#include "analysis/report/text/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/report/text/compare.h"
#include "runner/base/printable.h"

namespace analysis::report {
namespace {

using comparison::BenchComparison;
using comparison::BenchResult;
using comparison::LayerDifference;

std::string line_of(const BenchResult& result) {
  const auto [least, most] = std::minmax_element(result.step_s.begin(), result.step_s.end());
  return base::printable(fmt::format(
             "{}: {:.4g} samples/s (median of {} steps of {:.4g} to {:.4g} s)", result.name,
             result.samples_per_s(), result.step_s.size(), *least, *most)) +
         "\n";
}

std::string line_of(const LayerDifference& layer) {
  const auto milliseconds = [](const std::optional<double>& seconds) {
    return seconds ? fmt::format("{:.3f}", 1e3 * *seconds) : std::string("none");
  };
  return fmt::format("layer {}: {} and {} ms ({:+.3f} ms)", layer.name, milliseconds(layer.first_s),
                     milliseconds(layer.second_s), 1e3 * layer.difference_s());
}

std::string text_of(const BenchResult& first, const BenchResult& second,
                    const BenchComparison& comparison) {
  const std::string within = std::isfinite(comparison.interval.low)
                                 ? fmt::format("95 % within {:.3f} to {:.3f}; ",
                                               comparison.interval.low, comparison.interval.high)
                                 : "";
  std::string text;
  if (comparison.distinguishable) {
    text = fmt::format("{} is {:.3f} times as fast as {} ({}p {:.2g})", second.name,
                       comparison.ratio, first.name, within, comparison.p_value);
  } else {
    text = fmt::format("{} and {} are not distinguishable: ratio {:.3f} ({}p {:.2g})", second.name,
                       first.name, comparison.ratio, within, comparison.p_value);
  }
  text = base::printable(text) + "\n";
  for (const std::string& difference : comparison.differences) {
    text += base::printable("  they differ in " + difference) + "\n";
  }
  for (std::size_t i = 0; i < std::min(comparison.layers.size(), kMostLayers); ++i) {
    text += base::printable("  " + line_of(comparison.layers[i])) + "\n";
  }
  return text;
}

}  // namespace

std::string bench_compare_text(const std::vector<BenchResult>& results,
                               const std::vector<BenchComparison>& comparisons) {
  std::string text;
  for (const BenchResult& result : results) text += line_of(result);
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    text += text_of(results.front(), results[i + 1], comparisons[i]);
  }
  return text;
}

}  // namespace analysis::report
