// Comparisons of bench results as text and as JSON.
// Hides words and layout.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/report/write_compare.h"
#include "runner/base/printable.h"

namespace analysis::report {
namespace {

using comparison::BenchComparison;
using comparison::BenchResult;
using comparison::LayerDifference;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostLayers = 12;  ///< told in text

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

Json json_of(const BenchResult& result) {
  return {{"file", base::printable(result.name)},
          {"samples_per_s", result.samples_per_s()},
          {"steps", result.step_s.size()}};
}

Json json_of(const BenchResult& second, const BenchComparison& comparison) {
  return {{"file", base::printable(second.name)},           {"ratio", comparison.ratio},
          {"interval", interval_json(comparison.interval)}, {"p_value", comparison.p_value},
          {"distinguishable", comparison.distinguishable},  {"differences", comparison.differences},
          {"layers", layers_json(comparison.layers)}};
}

Json definitions() {
  return {
      {"samples_per_s", "samples of a step over the median step time"},
      {"ratio", "samples_per_s over that of the first file"},
      {"interval",
       "95 % of the ratio: bootstrap of both medians, 20,000 draws, expanded percentiles; absent "
       "for fewer than 4 steps"},
      {"p_value",
       "share of exchanges of steps between the two that differ by as much in the mean of the "
       "logarithms of their times; exact up to 20,000 exchanges, else so many drawn ones; adjusted "
       "for the number of files (Holm)"},
      {"distinguishable",
       "p_value below 0.04. Steps of one process share what it met: repeat the "
       "process before a small difference is believed"},
      {"layers",
       "seconds of a step, forward and backward, where both were made with --layers; the "
       "largest difference first"}};
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

std::string bench_compare_json_text(const std::vector<BenchResult>& results,
                                    const std::vector<BenchComparison>& comparisons) {
  Json listed = Json::array(), compared = Json::array();
  for (const BenchResult& result : results) listed.push_back(json_of(result));
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    compared.push_back(json_of(results[i + 1], comparisons[i]));
  }
  const Json document = {{"schema", kCompareSchema},
                         {"kind", "bench"},
                         {"results", std::move(listed)},
                         {"comparisons", std::move(compared)},
                         {"definitions", definitions()}};
  return document.dump(1) + "\n";
}

}  // namespace analysis::report
