// Comparisons of bench results as JSON.
#include "analysis/report/json/bench.h"

#include <nlohmann/json.hpp>

#include "analysis/report/json/compare.h"
#include "runner/base/printable.h"

namespace analysis::report {
namespace {

using comparison::BenchComparison;
using comparison::BenchResult;
using Json = nlohmann::ordered_json;

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

Json bench_definitions() {
  return {
      {"samples_per_s", "samples of a step over the median step time"},
      {"ratio", "samples_per_s over that of the first file"},
      {"interval",
       "95 % of the ratio: bootstrap of both medians, 20,000 draws, expanded percentiles; absent "
       "for fewer than 4 steps"},
      {"p_value",
       "share of exchanges of steps between the two that differ by as much in the mean of the "
       "logarithms of their times; exact up to 20,000 exchanges, else of 20,000 random ones; "
       "adjusted for the number of files (Holm)"},
      {"distinguishable",
       "p_value below 0.04. Steps of one process share its conditions: repeat the "
       "process before believing a small difference"},
      {"layers",
       "seconds of a step, forward and backward, where both were made with --layers; the "
       "largest difference first"}};
}

}  // namespace

std::string bench_compare_json_text(const std::vector<BenchResult>& results,
                                    const std::vector<BenchComparison>& comparisons) {
  Json listed = Json::array(), compared = Json::array();
  for (const BenchResult& result : results) listed.push_back(json_of(result));
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    compared.push_back(json_of(results[i + 1], comparisons[i]));
  }
  return bench_document_text("bench", std::move(listed), std::move(compared), bench_definitions());
}

}  // namespace analysis::report
